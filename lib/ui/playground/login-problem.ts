// Why a login cannot go on, in words for the page.

/** `client`: the provider does not register us, so the page must say which client it is. */
export type ProblemKind = 'provider' | 'request' | 'client'

export class LoginProblem extends Error {
  readonly kind: ProblemKind

  constructor(message: string, kind: ProblemKind = 'provider') {
    super(message)
    this.kind = kind
  }
}
