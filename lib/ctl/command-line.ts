// Parses the command line of gwctl with sade, prints help, and runs the command.

import sade from 'sade'
import type { Sade } from 'sade'
import { nearest } from '../text/nearest-name.ts'
import { COMMANDS, printVersion } from './gwctl-commands.ts'
import type { Command, Invocation, Option } from './gwctl-commands.ts'

/** `command` is null if no command was given. */
interface CommandLine {
  readonly command: Command | null
  readonly action: 'run' | 'help' | 'version'
  readonly invocation: Invocation
}

const HELP: Option = { name: 'help', short: 'h', about: '' }
const VERSION: Option = { name: 'version', short: 'v', alias: 'V', about: '' }
const EVERY_OPTION = [...COMMANDS.flatMap(({ options }) => options), HELP, VERSION]

/** Throws an error whose message is meant for the user. */
export async function runCommandLine(argv: readonly string[]): Promise<void> {
  const { command, action, invocation } = parseCommandLine(argv)
  if (action === 'version') return printVersion()
  if (action === 'help' || command?.run === undefined) return sadeProgram().help(command?.name)
  const { args, rest } = invocation
  if (command.usage?.startsWith('<') && args.length === 0)
    throw new Error(`missing argument ${command.usage}`)
  if (command.usage === undefined && args.length > 0)
    throw new Error(`unexpected argument ${args[0]}`)
  if (rest !== null && command.takesRest === undefined) throw new Error('unexpected argument --')
  await command.run(invocation)
}

export function parseCommandLine(argv: readonly string[]): CommandLine {
  const end = argv.indexOf('--')
  const rest = end < 0 ? null : argv.slice(end + 1)
  const { words, flags } = separateFlags(end < 0 ? argv : argv.slice(0, end))
  const { command, args } = findCommand(words)
  const known = [...(command?.options ?? []), HELP, VERSION]
  const checked = flags.map((flag) => checkFlag(flag, known))
  const names = checked.map(flagName)
  for (const { name, repeats } of known)
    if (repeats === undefined && names.indexOf(`--${name}`) !== names.lastIndexOf(`--${name}`))
      throw new Error(`--${name} is given more than once`)
  const action = actionOf(checked, command)
  const options = action === 'run' ? parseFlags(checked, known) : {}
  return { command, action, invocation: { args, options, rest } }
}

function actionOf(flags: readonly string[], command: Command | null): CommandLine['action'] {
  if (flags.includes('--help')) return 'help'
  if (flags.includes('--version')) return 'version'
  return command?.run === undefined ? 'help' : 'run'
}

// sade needs all words of a command in one place, takes a word after a switch for its value, and accepts no value that
// starts with `-`. So each flag moves to the end, with its value as `--flag=value`.
function separateFlags(argv: readonly string[]): { words: string[]; flags: string[] } {
  const words: string[] = []
  const flags: string[] = []
  for (let at = 0; at < argv.length; at++) {
    const [word = '', next] = [argv[at], argv[at + 1]]
    const option = EVERY_OPTION.find((candidate) => spells(candidate, word))
    const hasValue = next !== undefined && !EVERY_OPTION.some((other) => spells(other, next))
    if (!word.startsWith('-') || word === '-') words.push(word)
    else if (option?.value === undefined || word.includes('=') || !hasValue) flags.push(word)
    else flags.push(`${word}=${argv[++at]}`)
  }
  return { words, flags }
}

/** The command with the longest matching name; throws if a word after a group is not one of its commands. */
function findCommand(words: readonly string[]): { command: Command | null; args: string[] } {
  let command = null as Command | null
  let at = 0
  for (; at < words.length; at++) {
    const word = words[at]!
    // `proxy` may be omitted: `gwctl trace` means `gwctl proxy trace`.
    const next: Command | null =
      findChild(command?.name ?? '', word) ?? (command === null ? findChild('proxy', word) : null)
    if (next === null) break
    command = next
  }
  const word = words[at]
  const children = COMMANDS.filter((child) => parentOf(child) === (command?.name ?? ''))
  if (word !== undefined && children.length > 0) {
    const near = nearest(word, children.map(lastWord))
    const known = near === undefined ? `; expected ${children.map(lastWord).join(', ')}` : ''
    throw new Error(
      `Invalid command: ${words.slice(0, at + 1).join(' ')}${suggestion(near)}${known}`,
    )
  }
  return { command, args: words.slice(at) }
}

function findChild(parent: string, word: string): Command | null {
  const isNamed = (child: Command): boolean =>
    lastWord(child) === word || child.aliases?.includes(word) === true
  return COMMANDS.find((child) => parentOf(child) === parent && isNamed(child)) ?? null
}

/** Returns the flag with its long name. sade would print these errors in its own form, and without a suggestion. */
function checkFlag(flag: string, known: readonly Option[]): string {
  const name = flagName(flag)
  const option = known.find((candidate) => spells(candidate, flag))
  if (option === undefined) throw new Error(`unknown option ${name}${nearOption(name, known)}`)
  const value = flag.slice(name.length)
  if (option.value === undefined && value !== '') throw new Error(`${name} takes no value`)
  if (option.value !== undefined && value.length < 2)
    throw new Error(`${name} needs a value: ${name} <${option.value}>`)
  return `--${option.name}${value}`
}

function nearOption(flag: string, known: readonly Option[]): string {
  const near = nearest(
    flag.replace(/^-+/, ''),
    known.map(({ name }) => name),
  )
  return suggestion(near === undefined ? undefined : `--${near}`)
}

function sentencesOf(text: string): string[] {
  return text.split(/(?<=\.)\s+/)
}

function suggestion(name: string | undefined): string {
  return name === undefined ? '' : `; did you mean ${name}?`
}

/** In single mode sade parses options only; the words of the command are already known. */
function parseFlags(flags: readonly string[], known: readonly Option[]): Invocation['options'] {
  const string = known.filter(({ value }) => value !== undefined).map(({ name }) => name)
  const { args } = sade('gwctl', true).parse(['', '', ...flags], { lazy: true, string })
  return args.at(-1) as unknown as Invocation['options']
}

function flagName(flag: string): string {
  return flag.split('=')[0]!
}

function spells({ name, short, alias }: Option, word: string): boolean {
  const spellings = [`--${name}`]
  if (short !== undefined) spellings.push(`-${short}`)
  if (alias !== undefined) spellings.push(`--${alias}`, `-${alias}`)
  return spellings.includes(flagName(word))
}

function sadeProgram(): Sade {
  const program = sade('gwctl').describe('Inspects and debugs a running gateway.')
  for (const command of COMMANDS) {
    const { name, usage = '', aliases = [], options, examples } = command
    program.command(`${name} ${usage}`.trim()).describe(describe(command))
    for (const alias of aliases) program.alias(`${parentOf(command)} ${alias}`)
    for (const option of options) program.option(flagText(option), optionText(option))
    for (const example of examples) program.example(example)
  }
  return program
}

/** The help of a group lists its commands. */
function describe({ name, about }: Command): string[] {
  const children = COMMANDS.filter((child) => parentOf(child) === name)
  const width = Math.max(0, ...children.map((child) => child.name.length))
  const lines = children.map(
    (child) => `  ${child.name.padEnd(width)}  ${sentencesOf(child.about)[0]}`,
  )
  return [...sentencesOf(about), ...lines]
}

function flagText({ name, short }: Option): string {
  return short === undefined ? `--${name}` : `-${short}, --${name}`
}

function optionText({ value, about }: Option): string {
  return value === undefined ? about : `<${value}>  ${about}`
}

function parentOf({ name }: Command): string {
  return name.split(' ').slice(0, -1).join(' ')
}

function lastWord({ name }: Command): string {
  return name.split(' ').at(-1)!
}
