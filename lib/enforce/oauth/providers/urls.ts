// What adapters do to URLs of their providers.

/** Without a slash at the end. */
export function trimmed(url: string): string {
  return url.replace(/\/$/, '')
}

/** A provider's word on where to post something, if that is at the provider: a document must not send it elsewhere. */
export function ownUrl(written: unknown, issuer: string): string | null {
  if (typeof written !== 'string' || !URL.canParse(written)) return null
  return new URL(written).origin === new URL(issuer).origin ? written : null
}
