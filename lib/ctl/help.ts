// gwctl --help: the table of commands as sade prints it.

import sade from 'sade'
import type { Sade } from 'sade'
import type { Command, Option } from './command.ts'
import { COMMANDS } from './commands.ts'
import { lastWord, parentOf } from './words.ts'

/** Of a command, or of all. */
export function help(command: Command | null): void {
  table().help(command?.name)
}

function table(): Sade {
  const program = sade('gwctl').describe('Looks at a running gateway.')
  for (const command of COMMANDS) {
    program.command([command.name, command.usage ?? ''].join(' ').trim()).describe(linesOf(command))
    for (const alias of command.aliases ?? []) program.alias(aliasOf(command, alias))
    for (const option of command.options) program.option(flagOf(option), aboutOf(option))
    for (const example of command.examples) program.example(example)
  }
  return program
}

/** A group tells what is in it. */
function linesOf({ name, about }: Command): string[] {
  const inside = COMMANDS.filter((command) => parentOf(command) === name)
  const width = Math.max(0, ...inside.map((command) => command.name.length))
  return [
    ...sentences(about),
    ...inside.map((command) => `  ${command.name.padEnd(width)}  ${sentences(command.about)[0]}`),
  ]
}

function sentences(text: string): string[] {
  return text.split(/(?<=\.)\s+/)
}

function aliasOf(command: Command, alias: string): string {
  return command.name.slice(0, -lastWord(command).length) + alias
}

function flagOf({ name, short }: Option): string {
  return short === undefined ? `--${name}` : `-${short}, --${name}`
}

function aboutOf({ value, about }: Option): string {
  return value === undefined ? about : `<${value}>  ${about}`
}
