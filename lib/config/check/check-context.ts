// The context of all checks: it collects problems, warnings and source positions, and reads referenced files.

import { readFileSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { createSecureContext } from 'node:tls'
import { formatProblem } from '../config-error.ts'
import type { ConfigPath, ConfigProblems } from '../config-error.ts'
import { describeFileError } from '../config-files.ts'
import type { ConfigSource } from '../yaml-source.ts'

/** Certificates, keys and password files are far smaller. */
const MAX_FILE_BYTES = 1_048_576

export class CheckContext {
  readonly source: ConfigSource
  /** Absolute paths of the files that were read. */
  readonly files = new Set<string>()
  /** Valid settings that are probably mistakes, one line each. */
  readonly warnings = new Set<string>()
  /** Source positions (`file:line:column`) by the key of the part. */
  readonly places = new Map<string, string>()
  readonly #problems: ConfigProblems
  readonly #knownFiles: Map<string, string>

  /** `knownFiles` has texts by absolute path that are used instead of reading the files again. */
  constructor(source: ConfigSource, problems: ConfigProblems, knownFiles: Map<string, string>) {
    this.source = source
    this.#problems = problems
    this.#knownFiles = knownFiles
  }

  problem(path: ConfigPath, message: string, part?: 'key' | 'value'): void {
    this.#problems.add(this.source.problemAt(path, message, part))
  }

  warn(path: ConfigPath, message: string): void {
    this.warnings.add(formatProblem(this.source.problemAt(path, message)))
  }

  /** Records the source position of a part: its name or, for a list entry, its start. */
  recordPlace(key: string, path: ConfigPath): void {
    const part = typeof path.at(-1) === 'number' ? 'value' : 'key'
    const { file, line, column } = this.source.problemAt(path, '', part)
    this.places.set(key, `${file}:${line}:${column}`)
  }

  /** Reads a file relative to the folder of the configuration; '' if it cannot be read, which is reported. */
  readFile(path: ConfigPath, name: string, expected = 'a PEM file'): string {
    const file = resolve(dirname(this.source.file), name)
    this.files.add(file)
    const known = this.#knownFiles.get(file)
    if (known !== undefined) return known
    try {
      const stats = statSync(file)
      // Reading a pipe or a device may never end.
      if (!stats.isFile() && !stats.isDirectory()) throw new Error('it is not a regular file')
      if (stats.size > MAX_FILE_BYTES) throw new Error(`it has more than ${MAX_FILE_BYTES} bytes`)
      const text = readFileSync(file, 'utf8')
      this.#knownFiles.set(file, text)
      return text
    } catch (error) {
      this.problem(path, `cannot read '${name}': ${describeFileError(error)}, expected ${expected}`)
      return ''
    }
  }

  /** Reports certificates or keys that OpenSSL refuses; its messages contain no part of the files. */
  checkTls(path: ConfigPath, options: { cert?: string; key?: string; ca?: string }): void {
    if (Object.values(options).includes('')) return
    try {
      createSecureContext(options)
    } catch (error) {
      const names = Object.keys(options).map((name) => (name === 'ca' ? 'root' : name))
      this.problem(
        path,
        `cannot use ${names.join(' and ')}: ${describeFileError(error)}, expected valid PEM`,
      )
    }
  }
}
