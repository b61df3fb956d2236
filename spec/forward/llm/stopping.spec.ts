// The cost of LLM requests during shutdown: none of it is lost.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { deadline } from '../../support/deadline.ts'
import { Stage } from '../../support/gateway.ts'
import type { RunningGateway } from '../../support/gateway.ts'
import { answers, chatEventsOf, chatOf, LlmBackend, LlmStream } from '../../support/llm-backend.ts'
import type { LlmAnswer } from '../../support/llm-backend.ts'
import { aiRoute, CHAT, chatAsking, estimateOf, post } from '../../support/llm/asking.ts'
import { RlsDouble } from '../../support/rls/double.ts'

const stopping = suite('stopping with LLM requests under way')
const stage = new Stage()
stopping.after.each(() => stage.clear())

const STREAMING = chatAsking({ stream: true })
const DESCRIPTORS = 'descriptors: [{ entries: [{ key: user, value: \'"u"\' }], type: tokens }]'

interface Scene {
  readonly rls: RlsDouble
  readonly gateway: RunningGateway
}

/** Leaves requests almost no time to finish. */
async function opened(answer: LlmAnswer): Promise<Scene> {
  const rules = { user: { requests_per_unit: 100_000, unit: 'DAY' } } as const
  const rls = await RlsDouble.start({ rules })
  stage.add({ close: () => rls.stop() })
  const backend = stage.add(await LlmBackend.start(answer))
  const policies = `remoteRateLimit: { host: "127.0.0.1:${rls.port}", domain: d, timeout: 5s, ${DESCRIPTORS} }`
  const gateway = await stage.gateway(
    `config: { connectionTerminationDeadline: 10ms }\n${aiRoute(backend, { policies })}`,
  )
  return { rls, gateway }
}

/** A stream of which two events have reached the client. */
async function underWay(stream: LlmStream, gateway: RunningGateway): Promise<void> {
  const client = await stage.client(gateway)
  const head = `POST ${CHAT} HTTP/1.1\r\nhost: a\r\ncontent-length: ${STREAMING.length}\r\n\r\n`
  client.send(head + STREAMING)
  await stream.opened()
  for (const event of chatEventsOf(30, 12).slice(0, 2)) await stream.send(event)
  await client.until(/ is"/)
}

stopping('reports the cost of a stream that is cut to the rate limit service', async () => {
  const stream = new LlmStream()
  const { rls, gateway } = await opened(stream.answer)
  await underWay(stream, gateway)
  await gateway.stop()
  assert.is(rls.countOf('user', 'u'), estimateOf(STREAMING) + 2)
})

stopping('waits until a compressed response is counted, reported and logged', async () => {
  const { rls, gateway } = await opened(answers.json(chatOf(4_000, 1_000), {}, 'gzip'))
  await post(gateway)
  await gateway.stop()
  assert.is(rls.countOf('user', 'u'), 5_000)
  const lines = gateway.lines.filter(({ message }) => message === 'request')
  assert.equal(
    lines.map((line) => line['gen_ai.usage.output_tokens']),
    [1_000],
  )
})

stopping('does not wait forever for a service that does not answer', async () => {
  const stream = new LlmStream()
  const { rls, gateway } = await opened(stream.answer)
  await underWay(stream, gateway)
  let release!: () => void
  rls.behavior.hold = new Promise((resolve) => (release = resolve))
  await deadline(gateway.stop(), 4_000, 'the gateway to stop')
  release()
})

stopping.run()
