// Runs what a command line asks for. What only some need is loaded when they do, so that the others start at once.

import { COMMANDS } from './commands.ts'
import { readLine } from './words.ts'

/** Throws what is to be told. */
export async function runWords(words: readonly string[]): Promise<void> {
  const { command, asks, call } = readLine(words, COMMANDS)
  if (asks === 'version') return (await import('./version.ts')).version()
  if (asks === 'help' || command?.run === undefined)
    return (await import('./help.ts')).help(command)
  const [word] = command.usage === undefined ? call.words : []
  if (word !== undefined) throw new Error(`unexpected argument ${word}`)
  if (call.rest !== null && command.takesRest === undefined)
    throw new Error(`unexpected argument --`)
  await command.run(call)
}
