// What a trace may show and how much of it, by the configuration in force: found out when somebody watches, and once.

import type { Config } from '../config/types.ts'
import { Showing } from '../config/show.ts'
import { sensitiveNames } from '../redact/names.ts'
import type { Hidden } from '../redact/names.ts'

export interface TraceTerms {
  readonly hidden: Hidden
  /** How values of the configuration are shown. */
  readonly showing: Showing
  /** Bytes of a body that are kept. */
  readonly maxBodyBytes: number
}

export class TraceTermsOf {
  #config: Config | null = null
  #terms: TraceTerms | null = null

  /** The same for the same configuration. */
  of(config: Config): TraceTerms {
    if (this.#terms === null || this.#config !== config) this.#terms = termsOf(config)
    this.#config = config
    return this.#terms
  }
}

function termsOf(config: Config): TraceTerms {
  const { sensitiveHeaders, maxTracedBytes } = config.process
  const headers: string[] = [...sensitiveHeaders]
  const parameters = new Set<string>()
  const note: Note = (kind, name) => {
    if (kind === 'header') headers.push(name)
    else parameters.add(name)
  }
  findPlaces([config.gateways, config.ui], note)
  return {
    hidden: { headers: sensitiveNames(headers), parameters },
    showing: new Showing(sensitiveHeaders),
    maxBodyBytes: maxTracedBytes,
  }
}

type Note = (kind: 'header' | 'query', name: string) => void

/** Every place of a credential that the configuration names: those of clients, and those for backends. */
function findPlaces(value: unknown, note: Note): void {
  if (Array.isArray(value)) return value.forEach((item) => findPlaces(item, note))
  if (typeof value !== 'object' || value === null) return
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return
  const { kind, name } = value as { kind?: unknown; name?: unknown }
  if ((kind === 'header' || kind === 'query') && typeof name === 'string') note(kind, name)
  for (const part of Object.values(value)) findPlaces(part, note)
}
