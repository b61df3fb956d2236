// Values that a child was given and may print: what was set in its environment, and its arguments that are not shown.

import { hiddenArguments, isPlainName } from '../../../base/config/show-arguments.ts'
import { isSecretParameter, REDACTED } from '../../../base/redact/names.ts'
import type { StdioTarget } from './start.ts'

/** A shorter one stands in many lines that have nothing to do with it. */
const MIN_LETTERS = 8
/** Values that are looked for, and how much of each: no line is longer. */
const MAX_VALUES = 64
const MAX_LETTERS = 4_096

export class KnownValues {
  /** The longest first: one may be part of another. */
  readonly #values: readonly string[]

  constructor({ env, args }: Pick<StdioTarget, 'env' | 'args'>) {
    const set = Object.entries(env)
      .map(([name, value]) => [name, value.reveal()] as const)
      .filter(([name, value]) => isSecretParameter(name) || !isPlainName(value))
      .map(([, value]) => value)
    const values = [...set, ...hiddenArguments(args).flatMap(partsOf)]
      .flatMap((value) => value.split('\n'))
      .map((value) => value.trim().slice(0, MAX_LETTERS))
      .filter((value) => value.length >= MIN_LETTERS)
    this.#values = [...new Set(values)].slice(0, MAX_VALUES).toSorted((a, b) => b.length - a.length)
  }

  /** The line without them, also where it was cut within one. */
  hide(line: string): string {
    let shown = line
    for (const value of this.#values) shown = beforeCut(shown.replaceAll(value, REDACTED), value)
    return shown
  }
}

/** `--name=value`, `NAME=value`, `Name: Scheme value`: programs print them apart. */
function partsOf(text: string): string[] {
  const [, value = ''] = /^[^=\s]{1,128}=([^]*)$/.exec(text) ?? []
  const [, words = ''] = /^[\w-]{1,128}:\s*([^]*)$/.exec(text) ?? []
  return [text, value, words, words.replace(/^\w{1,32}\s+/, '')]
}

function beforeCut(line: string, value: string): string {
  const at = line.lastIndexOf(value.slice(0, MIN_LETTERS))
  return at >= 0 && value.startsWith(line.slice(at)) ? line.slice(0, at) + REDACTED : line
}
