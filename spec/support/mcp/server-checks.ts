// Checks of clients through the gateway with the reference servers of the MCP project.

import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { Test } from 'uvu'
import * as assert from 'uvu/assert'
import { deadline } from '../deadline.ts'
import type { Folder } from '../folder.ts'
import { ROOT } from '../root.ts'
import { answersOf } from './judge-client.ts'
import type { Answers, Connect, JudgeClient } from './judge-client.ts'
import type { Judged, Target } from './judged.ts'
import { npmServer } from './judged.ts'

const WAIT_MS = 30_000
const MAX_TRIES = 100
const TRY_AGAIN_MS = 20

/** By path; /all combines them. */
export function npmServers(folder: Folder): Record<string, Target[]> {
  const everything = npmServer('everything')
  // Its initial folder: it requests the client's roots and serves those instead.
  const filesystem = npmServer('filesystem', [join(ROOT, 'examples')])
  const memory = npmServer('memory', [], { MEMORY_FILE_PATH: folder.at('memory.jsonl') })
  return {
    '/everything': [everything],
    '/filesystem': [filesystem],
    '/memory': [memory],
    '/all': [everything, filesystem, memory],
  }
}

type Use = (client: JudgeClient, folder: Folder) => Promise<void>

export function addServerChecks(
  judge: Test,
  connect: Connect,
  judgedOf: () => Promise<Judged>,
): void {
  const check = (path: string, title: string, use: Use): void =>
    judge(title, async () => {
      const judged = await judgedOf()
      const { folder } = judged
      const root = pathToFileURL(folder.path).href
      const answers: Answers = { ...answersOf('ada'), root }
      const client = await connect(judged.url(path), answers)
      try {
        await deadline(use(client, folder), WAIT_MS, `a conversation at ${path}`)
      } finally {
        await client.close()
      }
    })
  check('/everything', 'talks with server-everything', checkEverything)
  check('/everything', 'is asked by server-everything', checkEverythingAsks)
  check('/filesystem', 'talks with server-filesystem', checkFilesystem)
  check('/memory', 'talks with server-memory', checkMemory)
  check('/all', 'talks with all of them as one', checkAll)
}

async function checkEverything(judge: JudgeClient): Promise<void> {
  const { client } = judge
  assert.is(client.getServerVersion()?.title, 'Everything Reference Server')
  assert.is((await judge.call('echo', { message: 'hello' })).text, 'Echo: hello')
  assert.match((await judge.call('get-sum', { a: 20, b: 22 })).text, /42/)
  // The SDKs check it against the schema from the list of tools.
  await client.listTools()
  const { structured } = await judge.call('get-structured-content', { location: 'Chicago' })
  assert.type((structured as { temperature: unknown }).temperature, 'number')
  const seen: number[] = []
  const onprogress = ({ progress }: { progress: number }): void => void seen.push(progress)
  await judge.call('trigger-long-running-operation', { duration: 0.4, steps: 4 }, { onprogress })
  assert.equal(seen.slice(0, 3), [1, 2, 3])
  const { contents } = await client.readResource({ uri: 'demo://resource/dynamic/text/1' })
  assert.match(JSON.stringify(contents), /Resource 1/)
  const prompt = { name: 'args-prompt', arguments: { city: 'Oslo' } }
  assert.match(JSON.stringify(await client.getPrompt(prompt)), /Oslo/)
  const ref = { type: 'ref/prompt', name: 'completable-prompt' } as const
  const { completion } = await client.complete({
    ref,
    argument: { name: 'department', value: 'E' },
  })
  assert.equal(completion.values, ['Engineering'])
}

async function checkEverythingAsks(judge: JudgeClient): Promise<void> {
  const { sample } = answersOf('ada')
  const { text: sampled } = await judge.call('trigger-sampling-request', { prompt: 'hello' })
  assert.ok(sampled.includes(sample), sampled)
  assert.match((await judge.call('trigger-elicitation-request')).text, /ada@example\.com/)
  // It requests roots at any time, and reports it in a log message.
  assert.match((await judge.call('get-roots-list')).text, /file:\/\/\//)
}

async function checkFilesystem(judge: JudgeClient, folder: Folder): Promise<void> {
  assert.is(judge.client.getServerVersion()?.name, 'secure-filesystem-server')
  assert.is((await judge.tools()).length, 14)
  await untilAllowed(judge, folder.path)
  const path = folder.at('note.txt')
  const content = 'first\nsecond\n'
  await judge.call('write_file', { path, content })
  assert.is((await judge.call('read_text_file', { path })).text, content)
  assert.match((await judge.call('list_directory', { path: folder.path })).text, /note\.txt/)
  const { isError, text } = await judge.call('read_text_file', { path: '/etc/hostname' })
  assert.ok(isError)
  assert.match(text, /outside allowed directories/)
}

/** It requests roots after initialize, outside of a call, and does not report when it has them. */
async function untilAllowed(judge: JudgeClient, path: string): Promise<void> {
  let text = ''
  for (let left = MAX_TRIES; left > 0; left--) {
    text = (await judge.call('list_allowed_directories')).text
    if (text.includes(path)) return
    await delay(TRY_AGAIN_MS)
  }
  assert.unreachable(`the server never requested the roots of the client: ${text}`)
}

async function checkMemory(judge: JudgeClient): Promise<void> {
  const entity = { name: 'gateway', entityType: 'program', observations: ['forwards'] }
  await judge.call('create_entities', { entities: [entity] })
  assert.match((await judge.call('search_nodes', { query: 'forwards' })).text, /"gateway"/)
  const { contents } = await judge.client.readResource({ uri: 'memory://knowledge-graph' })
  assert.match(JSON.stringify(contents), /gateway/)
}

async function checkAll(judge: JudgeClient): Promise<void> {
  const tools = await judge.tools()
  for (const name of ['everything_echo', 'filesystem_read_text_file', 'memory_read_graph'])
    assert.ok(tools.includes(name), name)
  assert.is((await judge.call('everything_echo', { message: 'hello' })).text, 'Echo: hello')
  assert.not((await judge.call('memory_read_graph')).isError)
  assert.match((await judge.call('filesystem_list_allowed_directories')).text, /Allowed/)
  const { resources } = await judge.client.listResources()
  const memory = resources.find(({ uri }) => uri.startsWith('memory+'))
  assert.is(memory?.uri, 'memory+memory://knowledge-graph')
  const { contents } = await judge.client.readResource({ uri: memory!.uri })
  assert.match(JSON.stringify(contents), /memory\+memory:\/\/knowledge-graph/)
  const prompt = { name: 'everything_args-prompt', arguments: { city: 'Oslo' } }
  assert.match(JSON.stringify(await judge.client.getPrompt(prompt)), /Oslo/)
}
