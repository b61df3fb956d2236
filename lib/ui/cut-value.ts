// A value of the configuration as far as a map has room for it.

/** Letters of a text, and parts of a list or an object; how many more there are is said. */
export const MAX_VALUE = 2000
export const MAX_VALUE_PARTS = 100

export function cutText(text: string): string {
  const over = text.length - MAX_VALUE
  return over <= 0 ? text : `${text.slice(0, MAX_VALUE)}… ${over} more characters`
}

export function cutValue(value: unknown): unknown {
  if (typeof value === 'string') return cutText(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const shown = value.slice(0, MAX_VALUE_PARTS).map(cutValue)
    const over = value.length - shown.length
    return over === 0 ? shown : [...shown, `… ${over} more`]
  }
  const entries = Object.entries(value)
  const shown = entries.slice(0, MAX_VALUE_PARTS).map(([name, part]) => [name, cutValue(part)])
  const over = entries.length - shown.length
  if (over > 0) shown.push(['…', `${over} more`])
  return Object.fromEntries(shown) as unknown
}
