// Everything found wrong so far, to be told at once.

import { ConfigError } from './error.ts'
import type { Problem } from './error.ts'

export class Problems {
  readonly #found: Problem[] = []

  add(problem: Problem): void {
    this.#found.push(problem)
  }

  /** In the order of the text, file by file. */
  list(): readonly Problem[] {
    const files = [...new Set(this.#found.map(({ file }) => file))]
    return this.#found.toSorted(
      (a, b) =>
        files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line || a.column - b.column,
    )
  }

  /** Throws what was found, if anything was. */
  check(): void {
    if (this.#found.length > 0) throw new ConfigError(this.list())
  }
}
