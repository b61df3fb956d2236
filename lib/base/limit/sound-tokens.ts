// A count of tokens that can be reckoned with: a provider may say anything, and a bucket that is no number would stay shut
// for ever.

export function soundTokens(tokens: number): number {
  return tokens > 0 ? Math.min(Math.ceil(tokens), Number.MAX_SAFE_INTEGER) : 0
}
