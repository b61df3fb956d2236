// LLM requests to a gateway, each on a connection of its own, and gateways in front of doubles of providers.

import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { RateLimitRule } from '../../../lib/enforce/limit/limit-rule.ts'
import { deadline } from '../deadline.ts'
import type { RunningGateway, Stage } from '../gateway.ts'
import { LlmBackend } from '../llm-backend.ts'
import type { LlmAnswer } from '../llm-backend.ts'

const WAIT_MS = 30_000

export interface Told {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly text: string
  /** `cut`: the connection ended in the middle of the body. */
  readonly end: 'whole' | 'cut'
}

export interface Asked {
  readonly path?: string
  readonly method?: string
  readonly fields?: Readonly<Record<string, string>>
}

export const CHAT = '/v1/chat/completions'

/** A chat of so many bytes in all; its estimate is a quarter of them. */
export function chatAsking(fields: Record<string, unknown> = {}): string {
  return JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...fields })
}

/** What a limit takes for a body in advance. */
export function estimateOf(body: string | Buffer): number {
  return Math.ceil(Buffer.byteLength(body) / 4)
}

/** Sends it whole, with a length, and reads the answer to its end. */
export async function post(
  { port }: { port: number },
  body: string | Buffer = chatAsking(),
  { path = CHAT, method = 'POST', fields = {} }: Asked = {},
): Promise<Told> {
  const length = String(Buffer.byteLength(body))
  const ofBody = { 'content-type': 'application/json', 'content-length': length }
  const headers = method === 'GET' ? fields : { ...ofBody, ...fields }
  const asked = request({ host: '127.0.0.1', port, path, method, headers, agent: false })
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    asked.on('response', resolve)
    asked.on('error', reject)
  })
  asked.end(method === 'GET' ? undefined : body)
  try {
    return await toldBy(await deadline(answered, WAIT_MS, `an answer to ${method} ${path}`))
  } finally {
    asked.destroy()
  }
}

async function toldBy(message: IncomingMessage): Promise<Told> {
  const chunks: Buffer[] = []
  message.on('data', (chunk: Buffer) => chunks.push(chunk))
  const ended = new Promise<'whole' | 'cut'>((resolve) => {
    message.on('end', () => resolve('whole'))
    message.on('error', () => resolve('cut'))
  })
  const end = await deadline(ended, WAIT_MS, 'the end of an answer')
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(message.headers)) headers[name] = String(value)
  const body = Buffer.concat(chunks)
  return { status: message.statusCode ?? 0, headers, body, text: body.toString(), end }
}

export interface Written {
  /** Of the route, as YAML in flow form without braces. */
  readonly policies?: string
  /** Of the `ai` entry, in front of its host. */
  readonly entry?: string
}

/** One route for everything, to one provider. */
export function aiRoute({ port }: { port: number }, written: Written = {}): string {
  const { policies = '', entry = 'name: p, provider: { openAI: {} }' } = written
  const ai = `{ ${entry}, hostOverride: "127.0.0.1:${port}" }`
  return `routes: [{ name: all, backends: [{ ai: ${ai} }], policies: { ${policies} } }]\n`
}

/** So many tokens an hour, which no spec lasts. */
export function tokens(count: number, more = ''): string {
  return `rateLimit: { local: [{ tokens: ${count}, unit: Hours, ${more} }] }`
}

export interface Staged {
  readonly backend: LlmBackend
  readonly gateway: RunningGateway
}

/** A gateway in front of one provider that gives these answers. */
export async function staged(
  stage: Stage,
  written: Written,
  ...answers: LlmAnswer[]
): Promise<Staged> {
  const backend = stage.add(await LlmBackend.start(...answers))
  return { backend, gateway: await stage.gateway(aiRoute(backend, written)) }
}

/** What is left in the bucket that all share, of the limits in the order of their making. */
export function left({ plan }: RunningGateway, at = 0): number {
  const { shared, now } = [...plan.rules][at] as RateLimitRule
  return shared.remaining(now())
}
