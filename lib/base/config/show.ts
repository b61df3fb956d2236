// How the values of a checked configuration are shown: the way users write them, and without secrets.

import { X509Certificate } from 'node:crypto'
import { Expression } from '../cel/compile.ts'
import { shownValue } from '../redact/lines.ts'
import {
  isSecretGroup,
  isSecretParameter,
  isSecretSetting,
  REDACTED,
  sensitiveNames,
} from '../redact/names.ts'
import { shownBody, withoutTexts } from '../redact/texts.ts'
import type { Hidden } from '../redact/names.ts'
import { Regex } from '../regex.ts'
import { durationText } from './duration.ts'
import { Secret } from './secret.ts'
import { shownArguments } from './show-arguments.ts'
import { comesToCredential, shownExpression } from './show-expression.ts'

const DURATION_NAME = /(?:timeout|deadline|interval|ttl|backoff|leeway|maxAge|keepAlive)$/i

/** Values of the users' own. */
const AS_WRITTEN = new Set(['metadata', 'defaults', 'overrides', 'modelAliases'])

type Fields = Readonly<Record<string, unknown>>

export class Showing {
  readonly #hidden: Pick<Hidden, 'headers'>

  constructor(sensitiveHeaders: readonly string[]) {
    this.#hidden = { headers: sensitiveNames(sensitiveHeaders) }
  }

  /** `name` is that of the field it stands in. */
  show(value: unknown, name = ''): unknown {
    if (typeof value === 'string') return this.#isSecret(name) ? REDACTED : textOf(value, name)
    if (typeof value === 'number') return numberOf(value, name)
    if (typeof value !== 'object' || value === null) return value
    if (value instanceof Secret) return REDACTED
    if (value instanceof Regex) return value.source
    if (value instanceof Expression) return shownExpression(value.source, this.#hidden)
    if (Array.isArray(value)) return this.#list(value, name)
    return this.#object(value as Fields, name)
  }

  /** What users wrote and nobody changed. */
  written(value: unknown, name = ''): unknown {
    if (typeof value === 'string') return this.show(value, name)
    if (Array.isArray(value)) return value.map((item) => this.written(item, name))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, part]) => [
        key,
        typeof part === 'object' && isSecretGroup(key)
          ? withoutTexts(part)
          : this.written(part, key),
      ]),
    )
  }

  /** What is not set is left out. */
  fields(fields: Fields): Record<string, unknown> {
    return Object.fromEntries(
      Object.entries(fields)
        .filter(([, value]) => value !== null && value !== undefined)
        .map(([name, value]) => [name, this.show(value, name)]),
    )
  }

  /** What an expression came to, unless it reads something that is not to be shown. */
  valueOf(expression: Expression, value: string): unknown {
    return this.valuesOf(expression)(value)
  }

  /** The same for many values. */
  valuesOf({ source }: Expression): (value: string) => unknown {
    return comesToCredential(source, this.#hidden) ? () => REDACTED : (value) => textOf(value, '')
  }

  #isSecret(name: string): boolean {
    return isSecretSetting(name, this.#hidden)
  }

  /** Of a header: a text, or what computes one. */
  #value(name: string, value: unknown): unknown {
    return this.#isSecret(name) ? REDACTED : this.show(value)
  }

  #list(items: readonly unknown[], name: string): unknown {
    const isEdit = name === 'add' || name === 'set'
    if ((isEdit || name === 'headers') && (isEdit || items.length > 0)) {
      const pairs = items.map((item) => pairOf(item, isEdit))
      if (pairs.every((pair) => pair !== null))
        return Object.fromEntries(pairs.map(([key, value]) => [key, this.#value(key, value)]))
    }
    if (name === 'targets') return items.map((item) => this.#target(item))
    if (name === 'args') return shownArguments(items.map(String))
    return items.map((item) => this.show(item, name))
  }

  #object(fields: Fields, name: string): unknown {
    // Credentials of the programs it starts, mostly.
    if (name === 'env') return Object.fromEntries(Object.keys(fields).map((key) => [key, REDACTED]))
    if (AS_WRITTEN.has(name)) return this.written(fields)
    // A public key is known by its name.
    if (name === 'keys' && typeof fields['kid'] === 'string') return fields['kid']
    if (typeof fields['kind'] === 'string') return this.#choice(fields['kind'], fields)
    if (typeof fields['name'] === 'string' && 'value' in fields) return this.#named(fields, name)
    return this.fields(fields)
  }

  /** One of several forms, which users tell by the name of a field. */
  #choice(kind: string, { kind: _kind, ...rest }: Fields): unknown {
    if (kind === 'tcp' || kind === 'unix') return addressText({ kind, ...rest })
    const { regex: _regex, ...written } = rest
    const names = Object.keys(written)
    if (names.length === 1 && names[0] === 'value') return { [kind]: this.show(written['value']) }
    return kind in written ? this.fields(written) : { [kind]: this.fields(written) }
  }

  /** A condition on a header or a parameter: its value may be what a client has to know. */
  #named({ name, value }: Fields, place: string): unknown {
    const shown = this.show(value)
    const isSecret = place === 'query' ? isSecretParameter : this.#isSecret.bind(this)
    if (!isSecret(String(name))) return { name, value: shown }
    if (typeof shown !== 'object' || shown === null) return { name, value: REDACTED }
    return { name, value: Object.fromEntries(Object.keys(shown).map((kind) => [kind, REDACTED])) }
  }

  /** Its name stands beside its kind. */
  #target(item: unknown): unknown {
    if (typeof item !== 'object' || item === null || !('kind' in item) || !('name' in item))
      return this.show(item)
    const { name, ...rest } = item as Fields
    const { path } = rest
    const shown = typeof path === 'string' ? { ...rest, path: withoutValues(path) } : rest
    return { name, ...(this.show(shown) as Fields) }
  }
}

/** A header and its value, as a pair or, where it is computed, by names. */
function pairOf(item: unknown, isEdit: boolean): [string, unknown] | null {
  if (Array.isArray(item)) return [String(item[0]), item[1]]
  if (!isEdit || typeof item !== 'object' || item === null) return null
  const { name, value } = item as Fields
  return [String(name), value]
}

/** As in the file; a name or address with colons is in brackets. */
export function addressText(address: Fields): string {
  const { kind, host, port, path } = address
  if (kind === 'unix') return `unix:${String(path)}`
  const name = String(host ?? kind)
  return `${name.includes(':') ? `[${name}]` : name}:${String(port)}`
}

/** Of a server of somebody else's: which parameter is the credential only that one knows. */
function withoutValues(path: string): string {
  const [before, ...query] = path.split('?')
  if (query.length === 0) return path
  const parameters = query.join('?').split('&')
  const shown = parameters.map((text) => (/^[^=]{1,128}=/.exec(text)?.[0] ?? '') + REDACTED)
  return `${before}?${shown.join('&')}`
}

function textOf(text: string, name: string): unknown {
  if (text.includes('-----BEGIN ')) return pemText(text)
  // Of keys to check tokens by: who may fetch them may be told by a parameter of any name.
  if (name === 'body') return shownBody(Buffer.from(text)).toString()
  return shownValue(name === 'url' ? text.replace(/\?.*/s, `?${REDACTED}`) : text)
}

/** No bound is no number. */
function numberOf(value: number, name: string): unknown {
  if (value === Number.MAX_SAFE_INTEGER) return null
  return DURATION_NAME.test(name) ? durationText(value) : value
}

/** Which certificate it is, rather than all of it: a key may stand in the same file. */
function pemText(text: string): unknown {
  try {
    const { subject, validTo, fingerprint256 } = new X509Certificate(text)
    return { subject, validTo, fingerprint256 }
  } catch {
    return REDACTED
  }
}
