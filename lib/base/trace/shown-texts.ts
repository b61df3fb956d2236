// What of a request's texts is shown. A trace looks at the same ones at every step: long ones are read only once.

import { shownValue } from '../redact/lines.ts'
import { shownTarget } from '../redact/texts.ts'
import type { Hidden } from '../redact/names.ts'

/** Shorter ones are read faster than kept. */
const MIN_KEPT_LENGTH = 128

/** Texts that are kept; what comes above that is read each time. */
const MAX_KEPT = 256

export class ShownTexts implements Hidden {
  readonly headers: ReadonlySet<string>
  readonly parameters: ReadonlySet<string>
  readonly #targets = new Map<string, string>()
  readonly #values = new Map<string, string>()

  constructor({ headers, parameters }: Hidden) {
    this.headers = headers
    this.parameters = parameters
  }

  /** A path and query. */
  target(text: string): string {
    return this.#once(text, this.#targets, shownTarget)
  }

  /** Of a header that is no credential by its name. */
  value(text: string): string {
    return this.#once(text, this.#values, shownValue)
  }

  #once(text: string, kept: Map<string, string>, show: typeof shownTarget): string {
    const known = kept.get(text)
    if (known !== undefined) return known
    const shown = show(text, this.parameters)
    if (text.length >= MIN_KEPT_LENGTH && kept.size < MAX_KEPT) kept.set(text, shown)
    return shown
  }
}
