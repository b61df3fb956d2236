// Shared by the specs with LLM SDKs: waits with a deadline, and a gateway in front of the mock or a test provider.

import { deadline } from '../deadline.ts'
import type { RunningGateway, Stage } from '../gateway.ts'
import { LlmBackend } from '../llm-backend.ts'
import type { LlmAnswer } from '../llm-backend.ts'
import { aiRoute, tokens } from './asking.ts'
import type { Staged } from './asking.ts'
import { echoAnswer } from './echo-provider.ts'

const WAIT_MS = 30_000

export async function soon<T>(promise: PromiseLike<T>): Promise<T> {
  return deadline(Promise.resolve(promise), WAIT_MS, 'an answer')
}

/** All items until the end. */
export async function all<T>(source: PromiseLike<AsyncIterable<T>>): Promise<T[]> {
  const items: T[] = []
  const read = async (): Promise<T[]> => {
    for await (const item of await source) items.push(item)
    return items
  }
  return deadline(read(), WAIT_MS, 'the end of a stream')
}

/** The error of a promise; throws if it succeeds. */
export async function failureOf(promise: PromiseLike<unknown>): Promise<unknown> {
  let result: unknown
  try {
    result = await soon(promise)
  } catch (error) {
    return error
  }
  throw new Error(`there was no error but ${JSON.stringify(result)}`)
}

export const BUDGET = 100_000

/** `llm` models of the mock provider, with a budget that is never exhausted. */
export async function mocked(stage: Stage): Promise<RunningGateway> {
  return stage.gateway(
    'gateways: { default: { port: ${PORT}, address: 127.0.0.1 } }\n' +
      'llm: { gateways: [default], models: [{ name: mock, provider: mock }], ' +
      `policies: { ${tokens(BUDGET)} } }\n`,
  )
}

/** One route to a provider that repeats the prompt, for the dialects that the mock does not have. */
export async function echoed(stage: Stage): Promise<RunningGateway> {
  return (await doubled(stage, tokens(BUDGET), echoAnswer)).gateway
}

/** One route to one provider that gives these answers. */
export async function doubled(
  stage: Stage,
  policies: string,
  ...answers: LlmAnswer[]
): Promise<Staged> {
  const backend = stage.add(await LlmBackend.start(...answers))
  return { backend, gateway: await stage.gateway(aiRoute(backend, { policies })) }
}
