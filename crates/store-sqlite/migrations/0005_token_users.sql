-- Sessions were access tokens whose ids begin with "session-"; now they are entities of a type of their own. The old ones
-- end here: their users sign in again.
DELETE FROM metadata_aspect_v2
WHERE urn >= 'urn:li:dataHubAccessToken:session-' AND urn < 'urn:li:dataHubAccessToken:session.';

-- An access token now has an edge to the user it acts for, as docent_model::derive makes it; existing tokens get theirs.
INSERT OR IGNORE INTO edge (source, aspect, relationship, destination)
SELECT urn, aspect, 'TokenOf', json_extract(metadata, '$.actorUrn')
FROM metadata_aspect_v2
WHERE urn >= 'urn:li:dataHubAccessToken:' AND urn < 'urn:li:dataHubAccessToken;'
  AND aspect = 'dataHubAccessTokenInfo' AND version = 0
  AND CASE WHEN json_valid(metadata) THEN json_extract(metadata, '$.actorUrn') END LIKE 'urn:li:corpuser:_%';
