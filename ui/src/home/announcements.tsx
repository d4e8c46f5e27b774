import { Suspense, lazy, useState } from "react";

import { useApiMutation, useApiQuery } from "../api/cache.ts";
import { loadChunk } from "../components/chunks.ts";
import { RelativeTime } from "../components/common.tsx";
import { Dialog } from "../components/dialog.tsx";
import { focusOnMount } from "../components/focus.ts";
import { plainText } from "../components/plain_text.ts";
import { ErrorMessage } from "../components/states.tsx";
import { UndoNotice, useUndo } from "../components/undo.tsx";
import { FieldProblem, useValidation } from "../components/validation.tsx";
import {
  AnnouncementsDocument,
  CreateAnnouncementDocument,
  DeleteAnnouncementDocument,
  type AnnouncementsQuery,
} from "../generated/operations.ts";
import { texts } from "../texts.ts";

// Most home pages have no announcements.
const Markdown = lazy(async () => ({
  default: (await loadChunk(import("../components/markdown.tsx"))).Markdown,
}));

type Post = NonNullable<AnnouncementsQuery["listPosts"]>["posts"][number];

const isWebLink = (link: string) => /^https?:\/\//.test(link);

/** What administrators announce; nothing if there is nothing, and the user may not add any. */
export function Announcements() {
  const read = useApiQuery(AnnouncementsDocument, {});
  const [isAdding, setAdding] = useState(false);
  const remove = useApiMutation(DeleteAnnouncementDocument);
  const again = useApiMutation(CreateAnnouncementDocument);
  const undo = useUndo();
  const posts = (read.data?.listPosts?.posts ?? []).filter(
    ({ postType }) => postType === "HOME_PAGE_ANNOUNCEMENT",
  );
  const canManage = read.data?.me?.platformPrivileges.manageGlobalAnnouncements === true;
  if (posts.length === 0 && !canManage) return null;
  const deletePost = (post: Post) =>
    remove.mutate(
      { urn: post.urn },
      {
        onSuccess: () =>
          undo.report(texts.announcements.deleted(post.content.title), () =>
            again.mutate({ content: post.content }, { onSuccess: undo.clear }),
          ),
      },
    );
  return (
    <section className="announcements" aria-label={texts.announcements.heading}>
      {posts.map((post) => (
        <article key={post.urn} className="announcement">
          <div>
            <h2 dir="auto">
              <PostTitle post={post} />
            </h2>
            {(post.content.description ?? "") !== "" && (
              <div className="announcement-text">
                <PostText text={post.content.description ?? ""} />
              </div>
            )}
          </div>
          <span className="hint">
            <RelativeTime time={post.lastModified.time} />
            {canManage && (
              <button
                type="button"
                className="subtle"
                aria-label={texts.announcements.delete(post.content.title)}
                disabled={remove.isPending}
                onClick={() => deletePost(post)}
              >
                ✕
              </button>
            )}
          </span>
        </article>
      ))}
      <UndoNotice last={undo.last} isBusy={again.isPending} error={remove.error ?? again.error} />
      {canManage && (
        <button type="button" className="subtle" onClick={() => setAdding(true)}>
          {texts.announcements.add}
        </button>
      )}
      {isAdding && <AddDialog onClose={() => setAdding(false)} />}
    </section>
  );
}

/** The text of a post; until the parser is loaded, without its markup. */
function PostText({ text }: { readonly text: string }) {
  return (
    <Suspense fallback={<p dir="auto">{plainText(text)}</p>}>
      <Markdown text={text} />
    </Suspense>
  );
}

function PostTitle({ post }: { readonly post: Post }) {
  const { title, link } = post.content;
  return link !== null && link !== undefined && isWebLink(link) ? (
    <a href={link} rel="noopener noreferrer">
      {title}
    </a>
  ) : (
    <>{title}</>
  );
}

function AddDialog({ onClose }: { readonly onClose: () => void }) {
  const create = useApiMutation(CreateAnnouncementDocument);
  const [title, setTitle] = useState("");
  const [text, setText] = useState("");
  const [link, setLink] = useState("");
  const { check, problemOf, attributesOf } = useValidation();
  return (
    <Dialog title={texts.announcements.addTitle} isOpen onClose={onClose}>
      <form
        className="form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (!check(event.currentTarget)) return;
          const content = {
            contentType: link === "" ? ("TEXT" as const) : ("LINK" as const),
            title: title.trim(),
            description: text.trim() === "" ? null : text.trim(),
            link: link === "" ? null : link,
          };
          create.mutate({ content }, { onSuccess: onClose });
        }}
      >
        <label>
          {texts.announcements.title}
          <input
            name="title"
            required
            {...attributesOf("title")}
            dir="auto"
            value={title}
            ref={focusOnMount}
            onChange={(event) => setTitle(event.target.value)}
          />
        </label>
        <FieldProblem name="title" text={problemOf("title")} />
        <label>
          {texts.announcements.text}
          <textarea
            rows={4}
            dir="auto"
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
        </label>
        <label>
          {texts.announcements.link}
          <input
            name="link"
            type="url"
            {...attributesOf("link")}
            pattern="https?://.+"
            title={texts.announcements.linkHint}
            value={link}
            onChange={(event) => setLink(event.target.value)}
          />
        </label>
        <FieldProblem name="link" text={problemOf("link")} />
        {create.error !== null && <ErrorMessage error={create.error} />}
        <div className="dialog-actions">
          <button type="button" onClick={onClose}>
            {texts.common.cancel}
          </button>
          <button type="submit" className="primary" disabled={create.isPending}>
            {texts.announcements.publish}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
