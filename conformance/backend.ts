// Parses a `backend` block into the steps of a scripted backend on each connection.

import type { Step } from '../spec/support/backend.ts'
import { readMessage } from './message.ts'
import { millisecondsOf, parseScript } from './script.ts'

/** `> connection` starts the script of the next connection. */
export function parseBackendScripts(text: string): Step[][] {
  const scripts: Step[][] = [[]]
  for (const part of parseScript(text)) {
    if (part.directive === 'connection') scripts.push([])
    else if (part.bytes !== undefined) scripts.at(-1)!.push({ send: part.bytes })
    else scripts.at(-1)!.push(parseStep(part.directive, part.argument))
  }
  if (scripts.length > 1 && scripts[0]!.length === 0) scripts.shift()
  return scripts.map(completeScript)
}

/** Makes a script wait for a request first and start again after its last step. */
function completeScript(script: Step[]): Step[] {
  const [first] = script
  const startsWithoutRequest = first !== undefined && !('send' in first)
  const steps: Step[] = startsWithoutRequest ? script : [{ wait: findRequestEnd }, ...script]
  return steps.some((step) => 'wait' in step || 'hold' in step)
    ? [...steps, { again: true }]
    : steps
}

function parseStep(directive: string, argument: string): Step {
  switch (directive) {
    case 'wait':
      return { wait: parseWait(argument) }
    case 'sleep':
      return { sleep: millisecondsOf(argument) }
    case 'hold':
      return { hold: true }
    case 'reset':
      return { reset: true }
    case 'close':
      return { close: true }
    default:
      throw new Error(`unknown backend directive: ${directive}`)
  }
}

function parseWait(argument: string): RegExp | ((text: string) => number) {
  if (argument === '') return findRequestEnd
  if (argument === 'head') return /\r\n\r\n/
  const text = /^for (.+)$/.exec(argument)?.[1]
  if (text === undefined)
    throw new Error(`expected wait, wait head or wait for <text>, found wait ${argument}`)
  return (received) => {
    const at = received.indexOf(text)
    return at < 0 ? -1 : at + text.length
  }
}

function findRequestEnd(text: string): number {
  const message = readMessage(text, { role: 'request', hasEnded: false })
  return message?.isComplete === true ? message.length : -1
}
