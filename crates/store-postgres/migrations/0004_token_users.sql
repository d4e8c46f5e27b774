-- Sessions were access tokens whose ids begin with "session-"; now they are entities of a type of their own. The old ones
-- end here: their users sign in again.
DELETE FROM metadata_aspect_v2
WHERE urn >= 'urn:li:dataHubAccessToken:session-' AND urn < 'urn:li:dataHubAccessToken:session.';

-- An access token now has an edge to the user it acts for, as docent_model::derive makes it; existing tokens get theirs.
CREATE FUNCTION docent_token_user(metadata text) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN metadata::json ->> 'actorUrn';
EXCEPTION WHEN others THEN
    RETURN NULL;
END
$$;

INSERT INTO edge (source, aspect, relationship, destination)
SELECT urn, aspect, 'TokenOf', docent_token_user(metadata)
FROM metadata_aspect_v2
WHERE urn >= 'urn:li:dataHubAccessToken:' AND urn < 'urn:li:dataHubAccessToken;'
  AND aspect = 'dataHubAccessTokenInfo' AND version = 0
  AND docent_token_user(metadata) LIKE 'urn:li:corpuser:_%'
ON CONFLICT DO NOTHING;

DROP FUNCTION docent_token_user(text);
