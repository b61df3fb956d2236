// Runs one case against a gateway and returns the differences from its expectations.

import type { Backend } from '../spec/support/backend.ts'
import { places } from '../spec/support/splits.ts'
import type { Block, Case } from './case-file.ts'
import { Conversation } from './conversation.ts'
import type { Cut, CaseContext } from './conversation.ts'
import type { GatewayProcess } from './gateway-process.ts'
import { fits, fitsWithin, insertKept } from './placeholders.ts'
import type { Kept } from './placeholders.ts'
import { differences, parseExpected, quote } from './match.ts'
import type { Message } from './message.ts'
import { readMessage } from './message.ts'
import { parseScript } from './script.ts'
import type { Stage } from './stage.ts'
import { TraceWatch } from './trace.ts'

const SETTLE_MS = 15_000
/** The number of positions at which a request is split in two, and how many of these run at once. */
const MAX_SPLITS = 120
const MAX_PARALLEL = 20

export type Result =
  | { status: 'passed' }
  | { status: 'skipped'; reason: string }
  | { status: 'failed'; wrong: string[] }

export async function play(aCase: Case, stage: Stage): Promise<Result> {
  const wrong = await checkCase(aCase, stage)
  return wrong.length === 0 ? { status: 'passed' } : { status: 'failed', wrong }
}

async function checkCase(aCase: Case, stage: Stage): Promise<string[]> {
  const gateway = await stage.prepare(aCase)
  const of = (kind: Block['kind']): Block[] => aCase.blocks.filter((block) => block.kind === kind)
  const hasRequests = of('request').length > 0
  const firstLine = gateway.lines.length
  const wrong: string[] = []
  if (hasRequests) {
    if (!(await gateway.isReady(await stage.port())))
      return [`gateway ended at the start:\n${gateway.lines.slice(0, 6).join('\n')}`]
    wrong.push(...(await checkTraces(of('trace'), stage, () => converse(aCase, stage, gateway))))
    wrong.push(...(await checkForwarded(aCase, stage)))
  }
  for (const { text } of of('log'))
    for (const line of text.split('\n')) {
      const isLogged = (): boolean =>
        gateway.lines.slice(firstLine).some((l) => fitsWithin(line, l))
      if (!(await becomesTrue(isLogged)))
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

/** Opens one trace watcher for each block, runs the case and checks the traces in the order of the blocks. */
async function checkTraces(
  blocks: readonly Block[],
  stage: Stage,
  runCase: () => Promise<string[]>,
): Promise<string[]> {
  const watches: TraceWatch[] = []
  try {
    for (const { info } of blocks) watches.push(await TraceWatch.open(await stage.admin(), info))
    const wrong = await runCase()
    if (wrong.length > 0) return wrong
    for (const [at, watch] of watches.entries()) {
      const { text, line } = blocks[at]!
      const differing = await watch.check(await stage.fill(text))
      wrong.push(...differing.map((problem) => `line ${line}: ${problem}`))
    }
    return wrong
  } finally {
    for (const watch of watches) watch.close()
  }
}

/** Runs the conversation once, or once per split position for an `every split` request. */
async function converse(aCase: Case, stage: Stage, gateway: GatewayProcess): Promise<string[]> {
  const firstLine = gateway.lines.length
  const context: CaseContext = {
    target: { port: await stage.port(), host: '127.0.0.1' },
    release: () => {
      for (const backend of stage.backends) backend.release()
    },
    signal: (name) => gateway.signal(name),
    waitForText: (where, text) => {
      const isThere = (): boolean =>
        where === 'log'
          ? gateway.lines.slice(firstLine).some((line) => fitsWithin(text, line))
          : [...stage.backends].some(({ received }) => received.includes(text))
      return requireSoon(isThere, `${quote(text)} did not reach the ${where}`)
    },
    waitForClosedBackends: () =>
      requireSoon(() => [...stage.backends].every(hasEnded), 'backend connections stay open'),
  }
  const cuts = await listCuts(aCase, stage)
  const wrong: string[] = []
  for (let i = 0; i < cuts.length && wrong.length === 0; i += MAX_PARALLEL) {
    const some = cuts.slice(i, i + MAX_PARALLEL)
    const results = await Promise.all(
      some.map(async (cut) => converseOnce(aCase, stage, context, cut)),
    )
    wrong.push(...results.flat())
  }
  return wrong
}

async function converseOnce(
  aCase: Case,
  stage: Stage,
  context: CaseContext,
  cut: Cut | undefined,
): Promise<string[]> {
  const kept: Kept = new Map()
  const admin = { ...context, target: await stage.admin() }
  const conversations = new Map<string, Conversation>()
  const conversationOn = (name: string): Conversation => {
    const known = conversations.get(name)
    const conversation = known ?? new Conversation(name === 'admin' ? admin : context, kept)
    conversations.set(name, conversation)
    return conversation
  }
  try {
    for (const { kind, info, text, line } of stage.conversation(aCase)) {
      const filled = await stage.fill(insertKept(text, kept))
      const conversation = conversationOn(connectionOf(info))
      if (kind === 'request')
        await conversation.request(filled, isEverySplit(info) ? cut : undefined)
      if (kind !== 'response') continue
      const wrong = await conversation.response(filled)
      if (wrong.length > 0)
        return wrong.map((problem) => `line ${line}${describeCut(cut)}: ${problem}`)
    }
    return []
  } finally {
    for (const conversation of conversations.values()) conversation.close()
  }
}

function describeCut(cut: Cut | undefined): string {
  return cut === undefined ? '' : `, ${cut.name}`
}

/** `request admin` goes to the admin interface, `request on stream` to the connection with that name. */
function connectionOf(info: string): string {
  if (info.startsWith('admin')) return 'admin'
  return /\bon (\w+)/.exec(info)?.[1] ?? ''
}

function isEverySplit(info: string): boolean {
  return info.endsWith('every split')
}

async function listCuts(aCase: Case, stage: Stage): Promise<(Cut | undefined)[]> {
  const block = aCase.blocks.find(({ kind, info }) => kind === 'request' && isEverySplit(info))
  if (block === undefined) return [undefined]
  const parts = parseScript(await stage.fill(block.text))
  const length = parts.find((part) => part.bytes !== undefined)?.bytes?.length ?? 0
  const named = (name: string, cut: Cut): Cut => Object.defineProperty(cut, 'name', { value: name })
  return [
    named('whole', (bytes) => [bytes]),
    named('byte by byte', (bytes) => Array.from(bytes, (_byte, at) => bytes.subarray(at, at + 1))),
    ...places(length, MAX_SPLITS).map((at) =>
      named(`split at ${at}`, (bytes) => [bytes.subarray(0, at), bytes.subarray(at)]),
    ),
  ]
}

async function checkForwarded(aCase: Case, stage: Stage): Promise<string[]> {
  const blocks = aCase.blocks.filter(({ kind }) => kind === 'forwarded')
  const plays = (await listCuts(aCase, stage)).length
  const wrong: string[] = []
  for (const target of new Set(blocks.map(({ info }) => backendOf(info)))) {
    const backend = await stage.backend(target)
    const ownBlocks = blocks.filter(({ info }) => backendOf(info) === target)
    if (ownBlocks.some(({ text }) => text.trim() === 'nothing')) {
      if (backend.received !== '') wrong.push(`forwarded ${quote(backend.received)}`)
      continue
    }
    if (ownBlocks.some(({ text }) => text.trim() === '> never complete')) {
      const complete = parseRequests(backend).find(({ isComplete }) => isComplete)
      if (complete !== undefined)
        wrong.push(`forwarded a complete request: ${quote(backend.received)}`)
      continue
    }
    const count = ownBlocks.length * plays
    await becomesTrue(() => parseRequests(backend).length >= count)
    const requests = parseRequests(backend)
    if (requests.length !== count)
      wrong.push(
        `forwarded ${requests.length} requests, expected ${count}: ${quote(backend.received)}`,
      )
    for (const [index, request] of requests.entries()) {
      const block = ownBlocks[plays > 1 ? 0 : index]
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
  const wrong = differences(parseExpected(text), request)
  if (isCut === request.isComplete)
    wrong.push(isCut ? 'request is complete, not cut' : 'request is not complete')
  return wrong.map((problem) => `line ${block.line}: forwarded: ${problem}`)
}

/** `forwarded to 2` is about the second backend. */
function backendOf(info: string): string {
  return /\bto (\d+)/.exec(info)?.[1] ?? '1'
}

function parseRequests(backend: Backend): Message[] {
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

async function requireSoon(isTrue: () => boolean, problem: string): Promise<void> {
  if (!(await becomesTrue(isTrue))) throw new Error(problem)
}

async function becomesTrue(isTrue: () => boolean): Promise<boolean> {
  const until = performance.now() + SETTLE_MS
  while (!isTrue()) {
    if (performance.now() > until) return false
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return true
}
