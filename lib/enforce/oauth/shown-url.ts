// A URL as logs and the dump show it: origin and path, for a secret may stand in the query.

export function formatUrlForLog(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}
