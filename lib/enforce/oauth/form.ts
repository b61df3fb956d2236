// A form or a query by its parts, each kept as it was written: what is not taken out arrives byte for byte.

export interface Part {
  /** Decoded: `client%5Fid` is `client_id`. */
  readonly name: string
  readonly value: string
  readonly text: string
}

export function partsOf(form: string): Part[] {
  return form
    .split('&')
    .filter((text) => text !== '')
    .map((text) => {
      const [[name = '', value = ''] = []] = [...new URLSearchParams(text)]
      return { name, value, text }
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
  const found = parts.filter((part) => part.name === name)
  return found.length === 1 ? found[0]!.value : null
}
