// LLM requests to a gateway, each on its own connection, and gateways in front of test providers.

import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { RateLimitRule } from '../../../lib/enforce/limit/limit-rule.ts'
import { deadline } from '../deadline.ts'
import type { RunningGateway, Stage } from '../gateway.ts'
import { LlmBackend } from '../llm-backend.ts'
import type { LlmAnswer } from '../llm-backend.ts'

const WAIT_MS = 30_000

export interface LlmResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly text: string
  /** `cut`: the connection ended in the middle of the body. */
  readonly end: 'whole' | 'cut'
}

export interface LlmRequestOptions {
  readonly path?: string
  readonly method?: string
  readonly fields?: Readonly<Record<string, string>>
}

export const CHAT = '/v1/chat/completions'

/** The body of a chat request. */
export function chatAsking(fields: Record<string, unknown> = {}): string {
  return JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...fields })
}

/** The tokens that a limit charges for a body in advance. */
export function estimateOf(body: string | Buffer): number {
  return Math.ceil(Buffer.byteLength(body) / 4)
}

/** Sends a complete body with its content-length, and reads the response to its end. */
export async function post(
  { port }: { port: number },
  body: string | Buffer = chatAsking(),
  { path = CHAT, method = 'POST', fields = {} }: LlmRequestOptions = {},
): Promise<LlmResponse> {
  const length = String(Buffer.byteLength(body))
  const bodyFields = { 'content-type': 'application/json', 'content-length': length }
  const headers = method === 'GET' ? fields : { ...bodyFields, ...fields }
  const sent = request({ host: '127.0.0.1', port, path, method, headers, agent: false })
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    sent.on('response', resolve)
    sent.on('error', reject)
  })
  sent.end(method === 'GET' ? undefined : body)
  try {
    return await readResponse(await deadline(answered, WAIT_MS, `a response to ${method} ${path}`))
  } finally {
    sent.destroy()
  }
}

async function readResponse(message: IncomingMessage): Promise<LlmResponse> {
  const chunks: Buffer[] = []
  message.on('data', (chunk: Buffer) => chunks.push(chunk))
  const ended = new Promise<'whole' | 'cut'>((resolve) => {
    message.on('end', () => resolve('whole'))
    message.on('error', () => resolve('cut'))
  })
  const end = await deadline(ended, WAIT_MS, 'the end of a response')
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(message.headers)) headers[name] = String(value)
  const body = Buffer.concat(chunks)
  return { status: message.statusCode ?? 0, headers, body, text: body.toString(), end }
}

export interface Written {
  /** The policies of the route, as YAML in flow form without braces. */
  readonly policies?: string
  /** The members of the `ai` entry before its host. */
  readonly entry?: string
}

/** One route for everything, to one provider. */
export function aiRoute({ port }: { port: number }, written: Written = {}): string {
  const { policies = '', entry = 'name: p, provider: { openAI: {} }' } = written
  const ai = `{ ${entry}, hostOverride: "127.0.0.1:${port}" }`
  return `routes: [{ name: all, backends: [{ ai: ${ai} }], policies: { ${policies} } }]\n`
}

/** A limit of tokens per hour, longer than any spec. */
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

/** The tokens left in the shared bucket of a limit; `at` is its position in the order of creation. */
export function remainingTokens({ plan }: RunningGateway, at = 0): number {
  const { shared, now } = [...plan.rules.keys()][at] as RateLimitRule
  return shared.remaining(now())
}
