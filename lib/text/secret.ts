// A text that must not be printed: every way to print or serialise it yields `<redacted>`.

import { inspect } from 'node:util'

const SHOWN = '<redacted>'

export class Secret {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  reveal(): string {
    return this.#text
  }

  toString(): string {
    return SHOWN
  }

  toJSON(): string {
    return SHOWN
  }

  [inspect.custom](): string {
    return SHOWN
  }
}

/** Forms of shorter secrets would also match unrelated text. */
const MIN_ENCODED_LENGTH = 8

/**
 * Texts that contain a secret in another encoding: percent-encoded, and in base64 wherever the secret begins in the
 * encoded text. Of base64 only the characters that depend on nothing but the secret.
 */
export function encodedFormsOf(secret: string): string[] {
  if (secret.length < MIN_ENCODED_LENGTH) return []
  const bytes = Buffer.from(secret)
  const base64 = [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6)),
  )
  const base64url = base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'))
  // An unpaired surrogate cannot be percent-encoded.
  const percentEncoded = encodeURIComponent(bytes.toString())
  return [...new Set([percentEncoded, ...base64, ...base64url])].filter((form) => form !== secret)
}
