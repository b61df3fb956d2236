// What the checks behind the shapes share: where problems go, and the files a configuration refers to.

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { createSecureContext } from 'node:tls'
import type { Path } from '../error.ts'
import type { Source } from '../source.ts'

const REASONS: Record<string, string> = {
  ENOENT: 'no such file',
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
}

/** Why a file could not be read. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return REASONS[code ?? ''] ?? message
}

export class Context {
  readonly source: Source
  /** Absolute paths of the files that were read. */
  readonly files = new Set<string>()
  readonly #folder: string

  constructor(source: Source, folder: string) {
    this.source = source
    this.#folder = folder
  }

  problem(path: Path, message: string, part?: 'key' | 'value'): void {
    this.source.problem(path, message, part)
  }

  /** The text of a file named relative to the configuration's folder; '' when it cannot be read. */
  read(path: Path, name: string): string {
    const file = resolve(this.#folder, name)
    this.files.add(file)
    try {
      return readFileSync(file, 'utf8')
    } catch (error) {
      this.problem(path, `cannot read '${name}': ${reasonOf(error)}, expected a PEM file`)
      return ''
    }
  }

  /** Tells whether OpenSSL takes these; its reasons name no contents. */
  checkTls(path: Path, options: { cert?: string; key?: string; ca?: string }): void {
    if (Object.values(options).includes('')) return
    try {
      createSecureContext(options)
    } catch (error) {
      const names = Object.keys(options).map((name) => (name === 'ca' ? 'root' : name))
      this.problem(
        path,
        `cannot use ${names.join(' and ')}: ${reasonOf(error)}, expected PEM that fits`,
      )
    }
  }
}
