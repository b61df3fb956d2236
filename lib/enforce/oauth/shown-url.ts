// Formats a URL for logs and the config dump: origin and path only, because the query may contain a secret.

export function formatUrlForLog(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}
