// The texts a configuration is made of: files, every YAML file of a folder, standard input.

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { reasonOf } from './reason.ts'
import type { Problems } from './problems.ts'

export interface InputText {
  /** What messages call it; files it names are found from its folder. */
  readonly file: string
  readonly text: string
}

export interface Inputs {
  readonly texts: readonly InputText[]
  /** Absolute paths of what was read. */
  readonly files: readonly string[]
  /** Absolute paths of the folders that were looked into. */
  readonly folders: readonly string[]
}

const STDIN = '-'
const STDIN_FILE = '<stdin>'

/** Standard input can be read once. */
export type ReadInput = () => string

export const readInput: ReadInput = () => readFileSync(0, 'utf8')

export function readInputs(
  names: readonly string[],
  problems: Problems,
  input: ReadInput = readInput,
): Inputs {
  const texts: InputText[] = []
  const files: string[] = []
  const folders: string[] = []
  const fail = (file: string, message: string): void =>
    problems.add({ file, line: 0, column: 0, path: '', message })
  for (const name of new Set(names)) {
    try {
      if (name === STDIN) texts.push({ file: STDIN_FILE, text: input() })
      else if (statSync(name).isDirectory()) {
        const found = filesOf(name)
        if (found.length === 0) fail(name, 'got a folder without YAML files, expected some')
        folders.push(resolve(name))
        for (const file of found) texts.push({ file, text: readFileSync(file, 'utf8') })
      } else texts.push({ file: name, text: readFileSync(name, 'utf8') })
    } catch (error) {
      fail(name, `cannot read the configuration file: ${reasonOf(error)}`)
    }
  }
  for (const { file } of texts) if (file !== STDIN_FILE) files.push(resolve(file))
  return { texts, files, folders }
}

/** In alphabetical order; what a mounted volume keeps behind a dot is left alone. */
function filesOf(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => /^[^.].*\.(?:ya?ml|json)$/.test(name))
    .toSorted()
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile())
}
