// Takes a command line apart: which command, which options, what stands behind `--`. Options may stand anywhere, as
// people write them, and what is not known is told with the name that comes nearest.

import type { Call, Command, Option } from './command.ts'
import { nearest } from './nearest.ts'

/** `help`: somebody asks about the command instead of running it. */
export interface Line {
  readonly command: Command | null
  readonly asks: 'run' | 'help' | 'version'
  readonly call: Call
}

interface Found {
  readonly option: Option
  readonly value: string | null
}

const HELP: Option = { name: 'help', short: 'h', about: '' }
const VERSION: Option = { name: 'version', short: 'v', other: 'V', about: '' }

export function readLine(words: readonly string[], commands: readonly Command[]): Line {
  const cut = words.indexOf('--')
  const before = cut < 0 ? words : words.slice(0, cut)
  const rest = cut < 0 ? null : words.slice(cut + 1)
  const plain = plainWords(before, commands)
  const { command, left } = commandOf(plain, commands)
  const found = optionsOf(before, command === null ? [] : command.options)
  const options = new Map<string, string[]>()
  for (const { option, value } of found) add(options, option, value ?? '')
  const asks = asked(options, command)
  return { command, asks, call: { words: left, options, rest } }
}

function asked(options: ReadonlyMap<string, unknown>, command: Command | null): Line['asks'] {
  if (options.has(HELP.name)) return 'help'
  if (command === null && options.has(VERSION.name)) return 'version'
  return command?.run === undefined ? 'help' : 'run'
}

function add(options: Map<string, string[]>, { name, repeats }: Option, value: string): void {
  const values = options.get(name)
  if (values === undefined) options.set(name, [value])
  else if (repeats === true) values.push(value)
  else throw new Error(`--${name} is given more than once`)
}

/** Without options and what they take. Which command it is is not known yet, so those of all count. */
function plainWords(words: readonly string[], commands: readonly Command[]): string[] {
  const every = commands.flatMap(({ options }) => options)
  const plain: string[] = []
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    if (!isOption(word)) plain.push(word)
    else if (!word.includes('=') && named(word, every)?.value !== undefined) at++
  }
  return plain
}

/** The longest name that fits; throws when a word of a group is none of its commands. */
function commandOf(
  plain: readonly string[],
  commands: readonly Command[],
): { command: Command | null; left: string[] } {
  let command: Command | null = null
  let at = 0
  for (; at < plain.length; at++) {
    const next = childNamed(plain[at]!, command, commands)
    if (next === undefined) break
    command = next
  }
  const word = plain[at]
  const children = commands.filter((child) => parentOf(child) === (command?.name ?? ''))
  if (word !== undefined && children.length > 0) {
    const near = nearest(word, children.map(lastWord))
    throw new Error(`Invalid command: ${[...plain.slice(0, at), word].join(' ')}${hint(near)}`)
  }
  return { command, left: plain.slice(at) }
}

/** `gwctl trace` is `gwctl proxy trace`: what one types all day may be short. */
function childNamed(
  word: string,
  parent: Command | null,
  commands: readonly Command[],
): Command | undefined {
  const fits = (place: string) => (child: Command) =>
    parentOf(child) === place &&
    (lastWord(child) === word || child.aliases?.includes(word) === true)
  const child = commands.find(fits(parent?.name ?? ''))
  return child ?? (parent === null ? commands.find(fits('proxy')) : undefined)
}

function optionsOf(words: readonly string[], known: readonly Option[]): Found[] {
  const all = [...known, HELP, VERSION]
  const found: Found[] = []
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    if (!isOption(word)) continue
    const [flag = '', ...parts] = word.split('=')
    const option = named(flag, all)
    if (option === undefined) throw new Error(`unknown option ${flag}${hint(nearFlag(flag, all))}`)
    if (option.value === undefined) {
      if (parts.length > 0) throw new Error(`${flag} takes no value`)
      found.push({ option, value: null })
      continue
    }
    const value = parts.length > 0 ? parts.join('=') : words[++at]
    if (value === undefined || value === '' || (parts.length === 0 && named(value, all)))
      throw new Error(`${flag} needs a value: ${flag} <${option.value}>`)
    found.push({ option, value })
  }
  return found
}

/** `-` alone means standard input, and is a word. */
function isOption(word: string): boolean {
  return word.startsWith('-') && word !== '-'
}

function named(word: string, options: readonly Option[]): Option | undefined {
  const [flag = ''] = word.split('=')
  return options.find(
    ({ name, short, other }) =>
      flag === `--${name}` ||
      (short !== undefined && flag === `-${short}`) ||
      (other !== undefined && (flag === `--${other}` || flag === `-${other}`)),
  )
}

function nearFlag(flag: string, options: readonly Option[]): string | null {
  const near = nearest(
    flag.replace(/^-+/, ''),
    options.map(({ name }) => name),
  )
  return near === null ? null : `--${near}`
}

function hint(near: string | null): string {
  return near === null ? '' : `; did you mean ${near}?`
}

export function parentOf({ name }: Command): string {
  return name.split(' ').slice(0, -1).join(' ')
}

export function lastWord({ name }: Command): string {
  return name.split(' ').at(-1)!
}
