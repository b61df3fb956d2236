// A form or a query by its parts, each kept as it was written: what is not taken out arrives byte for byte.

export interface Part {
  /** Decoded: `client%5Fid` is `client_id`. */
  readonly name: string
  readonly value: string
  readonly text: string
}

export function partsOf(form: string): Part[] {
  if (form === '') return []
  return form.split('&').map((text) => {
    const at = text.indexOf('=')
    const [name, value] = at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
    return { name: decoded(name), value: decoded(value), text }
  })
}

export function without(parts: readonly Part[], name: string): Part[] {
  return parts.filter((part) => part.name !== name)
}

export function textOf(parts: readonly Part[]): string {
  return parts.map(({ text }) => text).join('&')
}

/** The value of a parameter that stands there exactly once; null otherwise. */
export function onlyValue(parts: readonly Part[], name: string): string | null {
  const found = parts.filter((part) => mayMean(part, name))
  const [only] = found
  return only !== undefined && found.length === 1 && only.name === name ? only.value : null
}

/** Whether somebody who reads forms loosely could take this part for the parameter. */
export function mayMean({ name }: Part, meant: string): boolean {
  return name.replace(/[\s\0]/g, '').toLowerCase() === meant
}

/** What is no proper escape stays as it is. */
function decoded(text: string): string {
  const spaced = text.replaceAll('+', ' ')
  try {
    return decodeURIComponent(spaced)
  } catch {
    return spaced
  }
}
