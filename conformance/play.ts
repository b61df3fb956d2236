// Plays one case against a running gateway and says what is wrong.

import type { Backend } from '../spec/support/backend.ts'
import { places } from '../spec/support/splits.ts'
import type { Block, Case } from './case-file.ts'
import { Conversation } from './conversation.ts'
import type { Cut, Surroundings } from './conversation.ts'
import type { GatewayProcess } from './gateway-process.ts'
import { fits, fitsWithin, recall } from './holes.ts'
import type { Kept } from './holes.ts'
import { differences, expectedOf, quote } from './match.ts'
import type { Message } from './message.ts'
import { readMessage } from './message.ts'
import { parseScript } from './script.ts'
import type { Stage } from './stage.ts'
import { TraceWatch } from './trace.ts'

const SETTLE_MS = 15_000
/** Places at which a request is cut in two, and how many of these connections run at once. */
const MOST_SPLITS = 120
const AT_ONCE = 20

export type Result =
  | { status: 'passed' }
  | { status: 'skipped'; reason: string }
  | { status: 'failed'; wrong: string[] }

export async function play(aCase: Case, stage: Stage): Promise<Result> {
  const wrong = await judge(aCase, stage)
  return wrong.length === 0 ? { status: 'passed' } : { status: 'failed', wrong }
}

async function judge(aCase: Case, stage: Stage): Promise<string[]> {
  const gateway = await stage.prepare(aCase)
  const of = (kind: Block['kind']): Block[] => aCase.blocks.filter((block) => block.kind === kind)
  const hasRequests = of('request').length > 0
  const firstLine = gateway.lines.length
  const wrong: string[] = []
  if (hasRequests) {
    if (!(await gateway.isReady(await stage.port())))
      return [`gateway ended at the start:\n${gateway.lines.slice(0, 6).join('\n')}`]
    wrong.push(...(await traced(of('trace'), stage, () => converse(aCase, stage, gateway))))
    wrong.push(...(await judgeForwarded(aCase, stage)))
  }
  for (const { text } of of('log'))
    for (const line of text.split('\n')) {
      const isLogged = (): boolean =>
        gateway.lines.slice(firstLine).some((l) => fitsWithin(line, l))
      if (!(await comesTrue(isLogged)))
        wrong.push(
          `no log line with ${quote(line)} in\n${gateway.lines.slice(firstLine).join('\n')}`,
        )
    }
  for (const { text } of of('exit')) {
    const code = await gateway.exitCode()
    if (!fits(text.trim(), String(code))) wrong.push(`exit code ${code}, expected ${text}`)
    await stage.discard()
  }
  for (const { text } of of('stderr'))
    for (const line of text.split('\n'))
      if (!fitsWithin(await stage.fill(line), gateway.stderr))
        wrong.push(`${quote(line)} is not in stderr ${quote(gateway.stderr)}`)
  return wrong
}

/** Somebody watches while the case is played: one watcher for each block, in their order. */
async function traced(
  blocks: readonly Block[],
  stage: Stage,
  played: () => Promise<string[]>,
): Promise<string[]> {
  const watches: TraceWatch[] = []
  try {
    for (const { info } of blocks) watches.push(await TraceWatch.open(await stage.admin(), info))
    const wrong = await played()
    if (wrong.length > 0) return wrong
    for (const [at, watch] of watches.entries()) {
      const { text, line } = blocks[at]!
      const told = await watch.judge(await stage.fill(text))
      wrong.push(...told.map((what) => `line ${line}: ${what}`))
    }
    return wrong
  } finally {
    for (const watch of watches) watch.close()
  }
}

/** Once, or once per split when a request asks for it. */
async function converse(aCase: Case, stage: Stage, gateway: GatewayProcess): Promise<string[]> {
  const firstLine = gateway.lines.length
  const around: Surroundings = {
    target: { port: await stage.port(), host: '127.0.0.1' },
    release: () => {
      for (const backend of stage.backends) backend.release()
    },
    signal: (name) => gateway.signal(name),
    told: (to, text) => {
      const isTold = (): boolean =>
        to === 'log'
          ? gateway.lines.slice(firstLine).some((line) => fitsWithin(text, line))
          : [...stage.backends].some(({ received }) => received.includes(text))
      return isNeeded(isTold, `${to} with ${quote(text)}`)
    },
    left: () => isNeeded(() => [...stage.backends].every(hasEnded), 'backends that were left'),
  }
  const cuts = await cutsOf(aCase, stage)
  const wrong: string[] = []
  for (let i = 0; i < cuts.length && wrong.length === 0; i += AT_ONCE) {
    const some = cuts.slice(i, i + AT_ONCE)
    const told = await Promise.all(some.map(async (cut) => converseOnce(aCase, stage, around, cut)))
    wrong.push(...told.flat())
  }
  return wrong
}

async function converseOnce(
  aCase: Case,
  stage: Stage,
  around: Surroundings,
  cut: Cut | undefined,
): Promise<string[]> {
  const kept: Kept = new Map()
  const admin = { ...around, target: await stage.admin() }
  const conversations = new Map<string, Conversation>()
  const on = (name: string): Conversation => {
    const known = conversations.get(name)
    const conversation = known ?? new Conversation(name === 'admin' ? admin : around, kept)
    conversations.set(name, conversation)
    return conversation
  }
  try {
    for (const { kind, info, text, line } of stage.conversation(aCase)) {
      const filled = await stage.fill(recall(text, kept))
      const conversation = on(connectionOf(info))
      if (kind === 'request')
        await conversation.request(filled, isEverySplit(info) ? cut : undefined)
      if (kind !== 'response') continue
      const wrong = await conversation.response(filled)
      if (wrong.length > 0) return wrong.map((what) => `line ${line}${sayCut(cut)}: ${what}`)
    }
    return []
  } finally {
    for (const conversation of conversations.values()) conversation.close()
  }
}

function sayCut(cut: Cut | undefined): string {
  return cut === undefined ? '' : `, ${cut.name}`
}

/** `request admin` is to the admin interface, `request on stream` on a connection of that name. */
function connectionOf(info: string): string {
  if (info.startsWith('admin')) return 'admin'
  return /\bon (\w+)/.exec(info)?.[1] ?? ''
}

function isEverySplit(info: string): boolean {
  return info.endsWith('every split')
}

async function cutsOf(aCase: Case, stage: Stage): Promise<(Cut | undefined)[]> {
  const block = aCase.blocks.find(({ kind, info }) => kind === 'request' && isEverySplit(info))
  if (block === undefined) return [undefined]
  const parts = parseScript(await stage.fill(block.text))
  const length = parts.find((part) => part.bytes !== undefined)?.bytes?.length ?? 0
  const named = (name: string, cut: Cut): Cut => Object.defineProperty(cut, 'name', { value: name })
  return [
    named('whole', (bytes) => [bytes]),
    named('byte by byte', (bytes) => Array.from(bytes, (_byte, at) => bytes.subarray(at, at + 1))),
    ...places(length, MOST_SPLITS).map((at) =>
      named(`split at ${at}`, (bytes) => [bytes.subarray(0, at), bytes.subarray(at)]),
    ),
  ]
}

async function judgeForwarded(aCase: Case, stage: Stage): Promise<string[]> {
  const blocks = aCase.blocks.filter(({ kind }) => kind === 'forwarded')
  const plays = (await cutsOf(aCase, stage)).length
  const wrong: string[] = []
  for (const target of new Set(blocks.map(({ info }) => backendOf(info)))) {
    const backend = await stage.backend(target)
    const mine = blocks.filter(({ info }) => backendOf(info) === target)
    if (mine.some(({ text }) => text.trim() === 'nothing')) {
      if (backend.received !== '') wrong.push(`forwarded ${quote(backend.received)}`)
      continue
    }
    if (mine.some(({ text }) => text.trim() === '> never complete')) {
      const whole = requestsOf(backend).find(({ isComplete }) => isComplete)
      if (whole !== undefined) wrong.push(`forwarded as a whole: ${quote(backend.received)}`)
      continue
    }
    const count = mine.length * plays
    await comesTrue(() => requestsOf(backend).length >= count)
    const requests = requestsOf(backend)
    if (requests.length !== count)
      wrong.push(
        `forwarded ${requests.length} requests, expected ${count}: ${quote(backend.received)}`,
      )
    for (const [index, request] of requests.entries()) {
      const block = mine[plays > 1 ? 0 : index]
      if (block !== undefined) wrong.push(...(await compareForwarded(block, request, stage)))
      if (wrong.length > 0) break
    }
  }
  return wrong
}

async function compareForwarded(block: Block, request: Message, stage: Stage): Promise<string[]> {
  const parts = parseScript(await stage.fill(block.text))
  const text = parts.find((part) => part.bytes !== undefined)?.bytes ?? ''
  const isCut = parts.some((part) => part.directive === 'cut')
  const wrong = differences(expectedOf(text), request)
  if (isCut === request.isComplete)
    wrong.push(isCut ? 'request is complete, not cut' : 'request is not complete')
  return wrong.map((what) => `line ${block.line}: forwarded: ${what}`)
}

/** `forwarded to 2` speaks of the second backend. */
function backendOf(info: string): string {
  return /\bto (\d+)/.exec(info)?.[1] ?? '1'
}

function requestsOf(backend: Backend): Message[] {
  const requests: Message[] = []
  for (const { received } of backend.connections) {
    let rest = received
    for (;;) {
      const request = readMessage(rest, { role: 'request', hasEnded: false })
      if (request === null) break
      requests.push(request)
      rest = rest.substring(request.length)
    }
  }
  return requests
}

function hasEnded({ connections }: Backend): boolean {
  return connections.every(({ end }) => end !== 'open')
}

async function isNeeded(isTrue: () => boolean, what: string): Promise<void> {
  if (!(await comesTrue(isTrue))) throw new Error(`no ${what}`)
}

async function comesTrue(isTrue: () => boolean): Promise<boolean> {
  const until = performance.now() + SETTLE_MS
  while (!isTrue()) {
    if (performance.now() > until) return false
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return true
}
