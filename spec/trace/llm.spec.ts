// Requests to LLM providers in a trace: the request, the providers called, and the usage.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Stage } from '../support/gateway.ts'
import { answers, chatOf, LlmBackend } from '../support/llm-backend.ts'
import { aiRoute, chatAsking, post, tokens } from '../support/llm/asking.ts'
import { TraceWatcher } from '../support/trace-watcher.ts'

const trace = suite('trace of LLM backends')
const stage = new Stage()
trace.after.each(() => stage.clear())

const ASKED = ['requestSnapshot final request', 'backendCallStart', 'bodySnapshot final request']
const ANSWERED = ['backendCallResult', 'responseSnapshot raw response']

function eventsAfterSelection(watched: TraceWatcher): string[] {
  const list = watched.list()
  return list.slice(list.indexOf('policySelection backend') + 1)
}

trace('shows the request, the limit, the call, and the usage', async () => {
  const backend = stage.add(await LlmBackend.start(answers.json(chatOf(9, 3))))
  const gateway = await stage.gateway(aiRoute(backend, { policies: tokens(1000) }))
  const watched = TraceWatcher.at(gateway)
  await post(gateway, chatAsking())
  await watched.all()
  assert.equal(eventsAfterSelection(watched), [
    'llmRequestDetected',
    'rateLimit',
    'llmRouteResolved',
    ...ASKED,
    ...ANSWERED,
    'responseSnapshot backend response ready',
    'policy localRateLimit',
    'responseSnapshot final response',
    'llmUsage',
    'bodySnapshot response',
    'requestFinished',
  ])
  assert.equal(watched.messageOf('llmRequestDetected'), {
    type: 'llmRequestDetected',
    inputFormat: 'completions',
    requestModel: 'm',
    streaming: null,
  })
  assert.equal(watched.messageOf('llmRouteResolved'), {
    type: 'llmRouteResolved',
    provider: 'p',
    routeType: 'completions',
  })
  const limit = watched.messageOf('rateLimit')
  assert.is(limit['counts'], 'tokens')
  assert.is(limit['decision'], 'allow')
  const usage = watched.messageOf('llmUsage')['usage'] as Record<string, unknown>
  assert.is(usage['input'], 9)
  assert.is(usage['output'], 3)
  assert.is(usage['basis'], 'counted')
  assert.equal(watched.state('requestSnapshot final request', 'backend'), {
    name: 'gateway/default/default/all/backend0',
    type: 'ai',
    protocol: 'llm',
  })
  assert.is(watched.state('requestSnapshot final request', 'llm')['requestModel'], 'm')
})

trace('shows the body as the provider gets it, after every edit', async () => {
  const backend = stage.add(await LlmBackend.start(answers.json(chatOf(1, 1))))
  const entry = 'name: p, provider: { openAI: { model: other } }'
  const gateway = await stage.gateway(aiRoute(backend, { entry }))
  const watched = TraceWatcher.at(gateway)
  await post(gateway, chatAsking())
  await watched.all()
  const { body } = watched.messageOf('bodySnapshot final request')
  const sent = Buffer.from(String(body), 'base64').toString()
  assert.is((JSON.parse(sent) as { model: string }).model, 'other')
  assert.is(sent, backend.requests[0]?.body.toString())
})

trace('shows a failing provider and the next one', async () => {
  const one = stage.add(await LlmBackend.start(answers.fails(503)))
  const two = stage.add(await LlmBackend.start(answers.json(chatOf(1, 1))))
  const group = (name: string, { port }: LlmBackend): string =>
    `{ providers: [{ name: ${name}, provider: { openAI: {} }, hostOverride: "127.0.0.1:${port}" }] }`
  const gateway = await stage.gateway(
    `routes: [{ backends: [{ ai: { groups: [${group('one', one)}, ${group('two', two)}] } }] }]\n`,
  )
  const watched = TraceWatcher.at(gateway)
  await post(gateway, chatAsking())
  await watched.all()
  assert.equal(eventsAfterSelection(watched).slice(0, 11), [
    'llmRequestDetected',
    'llmRouteResolved',
    ...ASKED,
    ...ANSWERED,
    'llmRouteResolved',
    ...ASKED,
  ])
  const providers = watched.events
    .filter(({ message }) => message.type === 'llmRouteResolved')
    .map(({ message }) => message['provider'])
  assert.equal(providers, ['one', 'two'])
})

const MOCK = 'routes: [{ backends: [{ ai: { name: mock, provider: { mock: {} } } }] }]\n'

trace('shows a call to the mock provider like any other', async () => {
  const gateway = await stage.gateway(MOCK)
  const watched = TraceWatcher.at(gateway)
  await post(gateway, chatAsking())
  await watched.all()
  assert.equal(eventsAfterSelection(watched), [
    'llmRequestDetected',
    'llmRouteResolved',
    ...ASKED,
    ...ANSWERED,
    'responseSnapshot backend response ready',
    'responseSnapshot final response',
    'llmUsage',
    'bodySnapshot response',
    'requestFinished',
  ])
  assert.is(watched.messageOf('backendCallStart')['target'], 'mock')
  const { body } = watched.messageOf('bodySnapshot final request')
  assert.is(Buffer.from(String(body), 'base64').toString(), chatAsking())
  const { status, error } = watched.messageOf('backendCallResult')
  assert.equal([status, error], [200, null])
})

trace('shows the status of a refusal of the mock provider', async () => {
  const gateway = await stage.gateway(MOCK)
  const watched = TraceWatcher.at(gateway)
  await post(gateway, '{"model":"m"}')
  await watched.all()
  assert.is(watched.messageOf('backendCallResult')['status'], 400)
  const { severity } = watched.events.find(({ message }) => message.type === 'backendCallResult')!
  assert.is(severity, 'info')
})

trace('shows no provider call after a 429 of a token limit', async () => {
  const backend = stage.add(await LlmBackend.start(answers.json(chatOf(9, 3))))
  const gateway = await stage.gateway(aiRoute(backend, { policies: tokens(1) }))
  await post(gateway, chatAsking())
  const watched = TraceWatcher.at(gateway)
  await post(gateway, chatAsking())
  await watched.all()
  assert.equal(eventsAfterSelection(watched), [
    'llmRequestDetected',
    'rateLimit',
    'policy localRateLimit',
    'responseSnapshot final response',
    'bodySnapshot response',
    'requestFinished',
  ])
  assert.is(watched.messageOf('rateLimit')['decision'], 'deny')
  assert.is(watched.messageOf('requestFinished')['status'], 429)
})

trace.run()
