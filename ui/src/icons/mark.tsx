/** The mark of Docent: a D that is a column beside an eye. The same shape is in
 *  `public/favicon.svg`. */
export function Mark() {
  return (
    <svg className="mark" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <path d="M4 4h6v24H4z" />
      <path d="M13 4h3a12 12 0 0 1 0 24h-3zM18.5 11a5 5 0 1 0 0 10 5 5 0 0 0 0-10z" />
    </svg>
  );
}
