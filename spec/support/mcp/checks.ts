// Checks of SDK clients through the gateway: each check uses the fixture, and also passes without the gateway.

import { randomUUID } from 'node:crypto'
import type { Test } from 'uvu'
import * as assert from 'uvu/assert'
import { deadline } from '../deadline.ts'
import { answersOf } from './judge-client.ts'
import type { Connect, JudgeClient } from './judge-client.ts'

const WAIT_MS = 30_000
const CALLS_AT_ONCE = 20

export interface Judging {
  /** The prefix of the names of items. */
  readonly label: string
  readonly connect: Connect
  readonly url: () => Promise<URL>
}

type Use = (...clients: JudgeClient[]) => Promise<void>

/** Opens a session for each name, and always closes all of them. */
export async function withClients(
  { connect, url }: Judging,
  names: string[],
  use: Use,
): Promise<void> {
  const clients: JudgeClient[] = []
  try {
    for (const name of names) clients.push(await connect(await url(), answersOf(name)))
    await deadline(use(...clients), WAIT_MS, 'a conversation')
  } finally {
    await Promise.all(clients.map((client) => client.close()))
  }
}

async function errorOf(promise: Promise<unknown>): Promise<Error & { code?: number }> {
  return promise.then(
    () => assert.unreachable('expected an error') as never,
    (error: Error) => error,
  )
}

export function addChecks(judge: Test, judging: Judging): void {
  const check = (title: string, use: (one: JudgeClient) => Promise<void>): void =>
    judge(`${judging.label} ${title}`, () => withClients(judging, ['ada'], (one) => use(one!)))
  check('gets the name and capabilities of the server', checkServer)
  check('lists, calls, reads, gets and completes', checkRequests)
  check('receives errors of the server', checkErrors)
  check('receives progress and log messages of a call', checkCallMessages)
  check('answers requests for samples, input and roots', checkQuestions)
  check('cancels a call, also at the server', checkCancel)
  check('receives updates while it is subscribed', checkSubscription)
  check('receives notifications of changed lists', checkListChanges)
  judge(`${judging.label} shares nothing with another client that uses the same ids`, () =>
    withClients(judging, ['ada', 'bob'], (ada, bob) => checkTwo(ada!, bob!)),
  )
}

async function checkServer({ client }: JudgeClient): Promise<void> {
  const { name, title, version } = client.getServerVersion() ?? {}
  assert.equal([name, title, version], ['conformance-fixture', 'Conformance fixture', '1.0.0'])
  assert.is(client.getInstructions(), 'For tests only.')
  assert.equal(client.getServerCapabilities(), {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
    logging: {},
    completions: {},
  })
  assert.equal(await client.ping(), {})
}

async function checkRequests(judge: JudgeClient): Promise<void> {
  const { client } = judge
  assert.ok((await judge.tools()).includes('test_simple_text'))
  assert.is((await client.listPrompts()).prompts.length, 4)
  assert.is((await client.listResources()).resources[0]?.uri, 'test://static-text')
  const { resourceTemplates } = await client.listResourceTemplates()
  assert.is(resourceTemplates[0]?.uriTemplate, 'test://template/{id}/data')
  const { text } = await judge.call('echo', { text: 'naïve 漢字 😀\n\u2028' })
  assert.is(text, 'naïve 漢字 😀\n\u2028')
  const { content } = await judge.call('test_multiple_content_types')
  assert.equal(
    content.map(({ type }) => type),
    ['text', 'image', 'resource'],
  )
  const { contents } = await client.readResource({ uri: 'test://template/7/data' })
  assert.match(JSON.stringify(contents), /Data for ID: 7/)
  const given = { arg1: 'one', arg2: 'two' }
  const prompt = { name: 'test_prompt_with_arguments', arguments: given }
  assert.match(JSON.stringify(await client.getPrompt(prompt)), /arg1='one', arg2='two'/)
  const ref = { type: 'ref/prompt', name: prompt.name } as const
  const { completion } = await client.complete({ ref, argument: { name: 'arg1', value: 'par' } })
  assert.equal(completion.values, ['paris', 'park', 'party'])
  assert.equal(await client.setLoggingLevel('debug'), {})
}

async function checkErrors(judge: JudgeClient): Promise<void> {
  const { isError, text } = await judge.call('test_error_handling')
  assert.equal([isError, text], [true, 'This tool intentionally returns an error for testing'])
  const unknown = await errorOf(judge.call('no_such_tool'))
  assert.is(unknown.code, -32602)
  assert.match(unknown.message, /Unknown tool no_such_tool/)
  const missing = await errorOf(judge.client.readResource({ uri: 'test://nowhere' }))
  assert.match(missing.message, /Resource not found: test:\/\/nowhere/)
}

async function checkCallMessages(judge: JudgeClient): Promise<void> {
  const seen: number[] = []
  await judge.call('test_tool_with_progress', {}, { onprogress: (one) => seen.push(one.progress) })
  assert.equal(seen, [0, 50, 100])
  await judge.call('test_tool_with_logging')
  await judge.waitForNotification('notifications/message', 'Tool execution completed')
  const logged = judge.notifications.filter(({ method }) => method === 'notifications/message')
  assert.is(logged.length, 3)
}

async function checkQuestions(judge: JudgeClient): Promise<void> {
  const { sample, root } = answersOf('ada')
  const { text: sampled } = await judge.call('test_sampling', { prompt: 'Say something' })
  assert.is(sampled, `LLM response: ${sample}`)
  const { text: elicited } = await judge.call('test_elicitation', { message: 'What is your name?' })
  assert.match(elicited, /action=accept.*"username":"ada"/)
  assert.is((await judge.call('roots')).text, root)
  await judge.client.sendRootsListChanged()
}

async function checkCancel(judge: JudgeClient): Promise<void> {
  const label = randomUUID()
  const abort = new AbortController()
  const held = errorOf(judge.call('hold', { label }, { signal: abort.signal }))
  await judge.waitForNotification('notifications/message', `holding ${label}`)
  abort.abort('no longer needed')
  await held
  assert.is((await judge.call('cancelled', { label })).text, 'cancelled')
}

async function checkSubscription(judge: JudgeClient): Promise<void> {
  const uri = 'test://watched-resource'
  assert.is((await judge.call('touch', { uri })).text, 'not subscribed')
  await judge.client.subscribeResource({ uri })
  assert.is((await judge.call('touch', { uri })).text, 'notified')
  await judge.waitForNotification('notifications/resources/updated', uri)
  await judge.client.unsubscribeResource({ uri })
  assert.is((await judge.call('touch', { uri })).text, 'not subscribed')
}

async function checkListChanges(judge: JudgeClient): Promise<void> {
  await judge.call('change')
  for (const list of ['tools', 'prompts', 'resources'])
    await judge.waitForNotification(`notifications/${list}/list_changed`)
}

/** Both clients and both servers number their requests from the same start. */
async function checkTwo(ada: JudgeClient, bob: JudgeClient): Promise<void> {
  const talk = async (judge: JudgeClient, name: string): Promise<void> => {
    const { sample, root } = answersOf(name)
    const texts = Array.from({ length: CALLS_AT_ONCE }, (_x, at) => `${name} ${at}`)
    const echoes = texts.map(async (text, at) => {
      // Later requests are answered sooner.
      const delayMs = CALLS_AT_ONCE - at
      assert.is((await judge.call('echo', { text, delayMs })).text, text)
    })
    const asked = [0, 1, 2].flatMap(async () => {
      assert.is(
        (await judge.call('test_sampling', { prompt: name })).text,
        `LLM response: ${sample}`,
      )
      assert.is((await judge.call('roots')).text, root)
      assert.is((await judge.call('whoami')).text, JSON.stringify({ name, version: '1' }))
    })
    await Promise.all([...echoes, ...asked])
  }
  await Promise.all([talk(ada, 'ada'), talk(bob, 'bob')])
}
