// Reads the texts of a configuration: files, all YAML files of a folder, standard input.

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { ConfigProblems } from './config-error.ts'

export interface ConfigText {
  /** File name in messages; relative paths in the text start from its folder. */
  readonly file: string
  readonly text: string
}

export interface ConfigInputs {
  readonly texts: readonly ConfigText[]
  /** Absolute paths of the files that were read. */
  readonly files: readonly string[]
  /** Absolute paths of the folders that were listed. */
  readonly folders: readonly string[]
}

const STDIN = '-'
const STDIN_FILE = '<stdin>'

/** Returns the text of standard input, which can be read only once. */
export type ReadStdin = () => string

export const readStdin: ReadStdin = () => readFileSync(0, 'utf8')

export function readConfigInputs(
  names: readonly string[],
  problems: ConfigProblems,
  readInput: ReadStdin = readStdin,
): ConfigInputs {
  const texts: ConfigText[] = []
  const files: string[] = []
  const folders: string[] = []
  const fail = (file: string, message: string): void =>
    problems.add({ file, line: 0, column: 0, path: '', message })
  for (const name of new Set(names)) {
    try {
      if (name === STDIN) texts.push({ file: STDIN_FILE, text: readInput() })
      else if (statSync(name).isDirectory()) {
        const found = listConfigFiles(name)
        if (found.length === 0) fail(name, 'got a folder without YAML files, expected at least one')
        folders.push(resolve(name))
        for (const file of found) texts.push({ file, text: readFileSync(file, 'utf8') })
      } else texts.push({ file: name, text: readFileSync(name, 'utf8') })
    } catch (error) {
      fail(name, `cannot read the configuration file: ${describeFileError(error)}`)
    }
  }
  for (const { file } of texts) if (file !== STDIN_FILE) files.push(resolve(file))
  return { texts, files, folders }
}

/** In alphabetical order; dot files are skipped, as mounted Kubernetes volumes keep their data in them. */
function listConfigFiles(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => /^[^.].*\.(?:ya?ml|json)$/.test(name))
    .toSorted()
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile())
}

const REASONS: Record<string, string> = {
  ENOENT: 'no such file',
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
}

/** Plain words for the error of a file operation. */
export function describeFileError(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return REASONS[code ?? ''] ?? message
}
