/** A GraphQL document, with the types of what it is given and what it returns. */
export class Operation<Result, Variables> {
  readonly text: string;
  /** Never there at run time: it ties the types to the document. */
  declare readonly types: (variables: Variables) => Result;

  constructor(text: string) {
    this.text = text;
  }
}
