// What the checks behind the shapes share: where problems go, and the files a configuration refers to.

import { readFileSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { createSecureContext } from 'node:tls'
import { formatProblem } from '../config-error.ts'
import type { ConfigPath, ConfigProblems } from '../config-error.ts'
import { describeFileError } from '../config-files.ts'
import type { ConfigSource } from '../yaml-source.ts'

/** Certificates, keys and passwords are far smaller. */
const MAX_FILE_BYTES = 1_048_576

export class CheckContext {
  readonly source: ConfigSource
  /** Absolute paths of the files that were read. */
  readonly files = new Set<string>()
  /** What is allowed but can hardly be meant; a line each. */
  readonly warnings = new Set<string>()
  /** Where parts were written, by key: `file:line:column`. */
  readonly places = new Map<string, string>()
  readonly #problems: ConfigProblems
  readonly #named: Map<string, string>

  /** `named` has texts of files, by absolute path, that are as they were read before. */
  constructor(source: ConfigSource, problems: ConfigProblems, named: Map<string, string>) {
    this.source = source
    this.#problems = problems
    this.#named = named
  }

  problem(path: ConfigPath, message: string, part?: 'key' | 'value'): void {
    this.#problems.add(this.source.problemAt(path, message, part))
  }

  warn(path: ConfigPath, message: string): void {
    this.warnings.add(formatProblem(this.source.problemAt(path, message)))
  }

  /** Remembers where the part of this key was written: at its name or, in a list, at its beginning. */
  recordPlace(key: string, path: ConfigPath): void {
    const part = typeof path.at(-1) === 'number' ? 'value' : 'key'
    const { file, line, column } = this.source.problemAt(path, '', part)
    this.places.set(key, `${file}:${line}:${column}`)
  }

  /** The text of a file named relative to the configuration's folder; '' when it cannot be read. */
  readFile(path: ConfigPath, name: string, expected = 'a PEM file'): string {
    const file = resolve(dirname(this.source.file), name)
    this.files.add(file)
    const known = this.#named.get(file)
    if (known !== undefined) return known
    try {
      const found = statSync(file)
      // A pipe or a device might never end.
      if (!found.isFile() && !found.isDirectory()) throw new Error('it is no plain file')
      if (found.size > MAX_FILE_BYTES) throw new Error(`it has more than ${MAX_FILE_BYTES} bytes`)
      const text = readFileSync(file, 'utf8')
      this.#named.set(file, text)
      return text
    } catch (error) {
      this.problem(path, `cannot read '${name}': ${describeFileError(error)}, expected ${expected}`)
      return ''
    }
  }

  /** Tells whether OpenSSL takes these; its reasons name no contents. */
  checkTls(path: ConfigPath, options: { cert?: string; key?: string; ca?: string }): void {
    if (Object.values(options).includes('')) return
    try {
      createSecureContext(options)
    } catch (error) {
      const names = Object.keys(options).map((name) => (name === 'ca' ? 'root' : name))
      this.problem(
        path,
        `cannot use ${names.join(' and ')}: ${describeFileError(error)}, expected PEM that fits`,
      )
    }
  }
}
