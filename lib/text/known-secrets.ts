// Secrets whose values are known, found in texts and bytes in the encodings in which a backend may return them.

import { isSecretHeader, REDACTED, removeScheme, sensitiveHeaderNames } from './redaction.ts'
import { Secret } from './secret.ts'

/** A shorter value would also match unrelated text: it is never searched for. */
export const MIN_SECRET_LENGTH = 6
/** Above this number, no text and no body is shown. */
export const MAX_KNOWN_SECRETS = 256
const TOO_MANY_SECRETS = '<redacted: too many secrets>'

export class KnownSecrets {
  readonly #values = new Set<string>()
  /** The encoded values in Latin-1, the longest first, since one may be part of another. */
  #forms: readonly string[] = []
  #state: 'open' | 'full' = 'open'

  get isEmpty(): boolean {
    return this.#values.size === 0
  }

  add(value: string): void {
    if (value.length < MIN_SECRET_LENGTH || this.#values.has(value)) return
    if (this.#values.size === MAX_KNOWN_SECRETS) {
      this.#state = 'full'
      return
    }
    this.#values.add(value)
    const forms = new Set([...this.#forms, ...encodeSecret(value)])
    this.#forms = [...forms].toSorted((a, b) => b.length - a.length)
  }

  redactText(text: string): string {
    if (this.#state === 'full') return TOO_MANY_SECRETS
    let shown = text
    for (const form of this.#forms)
      if (shown.includes(form)) shown = shown.replaceAll(form, REDACTED)
    return shown
  }

  /** `end`: whether the bytes end here, or a secret may continue in bytes that are not shown. */
  redactBytes(bytes: Buffer, end: 'whole' | 'truncated'): Buffer {
    if (this.#state === 'full') return Buffer.from(TOO_MANY_SECRETS)
    const text = bytes.toString('latin1')
    const redacted = this.redactText(text)
    const shown = end === 'whole' ? redacted : this.#redactCutSecret(redacted)
    return shown === text ? bytes : Buffer.from(shown, 'latin1')
  }

  #redactCutSecret(text: string): string {
    for (const form of this.#forms) {
      const start = form.slice(0, MIN_SECRET_LENGTH)
      let at = text.indexOf(start, Math.max(0, text.length - form.length + 1))
      for (; at >= 0; at = text.indexOf(start, at + 1))
        if (form.startsWith(text.slice(at))) return text.slice(0, at) + REDACTED
    }
    return text
  }
}

const SECRET_HEADERS = { headers: sensitiveHeaderNames([]) }

/** The values of credential headers, without their scheme. */
export function findHeaderSecrets(
  fields: readonly (readonly [name: string, value: string])[],
): Secret[] {
  return fields
    .filter(([name]) => isSecretHeader(name.toLowerCase(), SECRET_HEADERS))
    .map(([, value]) => new Secret(removeScheme(value)))
}

/**
 * The forms of a secret in headers, queries, forms, JSON and base64, as bytes in Latin-1; none for a secret that is too
 * short to be searched for.
 */
export function encodeSecret(value: string): string[] {
  if (value.length < MIN_SECRET_LENGTH) return []
  const bytes = Buffer.from(value)
  // Without the halves of surrogate pairs, which `encodeURIComponent` refuses.
  const wellFormed = bytes.toString()
  const percent = encodeURIComponent(wellFormed)
  const lowerPercent = percent.replace(/%../g, (escape) => escape.toLowerCase())
  const json = JSON.stringify(wellFormed).slice(1, -1)
  const texts = [
    bytes.toString('latin1'),
    ...[json, json.replaceAll('/', '\\/'), escapeSpecialCharacters(json)].map((text) =>
      Buffer.from(text).toString('latin1'),
    ),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    percent,
    lowerPercent,
    percent.replaceAll('%20', '+'),
    lowerPercent.replaceAll('%20', '+'),
  ]
  // A header has one byte per character.
  if (!/[^\0-\xff]/.test(value)) texts.push(value)
  const base64 = [0, 1, 2].map((shift) => encodeShifted(bytes, shift))
  const url = base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'))
  return [...new Set([...texts, ...base64, ...url])]
}

/** As serialisers write JSON that may be part of HTML. */
function escapeSpecialCharacters(json: string): string {
  return json.replace(/\\"|[&'+<>`]/g, (found) => {
    const code = found
      .charCodeAt(found.length - 1)
      .toString(16)
      .toUpperCase()
    return `\\u${code.padStart(4, '0')}`
  })
}

/** The base64 digits that the bytes determine when `shift` other bytes precede them. */
function encodeShifted(bytes: Buffer, shift: number): string {
  const whole = Buffer.concat([Buffer.alloc(shift), bytes])
  const firstDigit = Math.ceil((shift * 8) / 6)
  return whole.toString('base64').slice(firstDigit, Math.floor((whole.length * 8) / 6))
}
