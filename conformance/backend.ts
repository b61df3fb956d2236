// The text of a `backend` block → what a scripted backend does on each connection.

import type { Step } from '../spec/support/backend.ts'
import { readMessage } from './message.ts'
import { millisecondsOf, parseScript } from './script.ts'

/** `> connection` starts the script of the next connection. */
export function backendScripts(text: string): Step[][] {
  const scripts: Step[][] = [[]]
  for (const part of parseScript(text)) {
    if (part.directive === 'connection') scripts.push([])
    else if (part.bytes !== undefined) scripts.at(-1)!.push({ send: part.bytes })
    else scripts.at(-1)!.push(stepOf(part.directive, part.argument))
  }
  if (scripts.length > 1 && scripts[0]!.length === 0) scripts.shift()
  return scripts.map(complete)
}

/** A script answers requests: it waits for one first, and begins again behind its last step. */
function complete(script: Step[]): Step[] {
  const [first] = script
  const isEager = first !== undefined && !('send' in first)
  const steps: Step[] = isEager ? script : [{ wait: wholeRequest }, ...script]
  return steps.some((step) => 'wait' in step || 'hold' in step)
    ? [...steps, { again: true }]
    : steps
}

function stepOf(directive: string, argument: string): Step {
  switch (directive) {
    case 'wait':
      return { wait: awaited(argument) }
    case 'sleep':
      return { sleep: millisecondsOf(argument) }
    case 'hold':
      return { hold: true }
    case 'reset':
      return { reset: true }
    case 'close':
      return { close: true }
    default:
      throw new Error(`unknown directive of a backend: ${directive}`)
  }
}

function awaited(argument: string): RegExp | ((text: string) => number) {
  if (argument === '') return wholeRequest
  if (argument === 'head') return /\r\n\r\n/
  const text = /^for (.+)$/.exec(argument)?.[1]
  if (text === undefined) throw new Error(`wait, wait head or wait for <text>, not ${argument}`)
  return (heard) => {
    const at = heard.indexOf(text)
    return at < 0 ? -1 : at + text.length
  }
}

function wholeRequest(text: string): number {
  const message = readMessage(text, { role: 'request', hasEnded: false })
  return message?.isComplete === true ? message.length : -1
}
