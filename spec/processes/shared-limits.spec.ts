// A rate limit of a gateway with two worker processes, as clients see it.

import { Agent, get } from 'node:http'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { deadline } from '../support/deadline.ts'
import { Program } from '../support/program.ts'

const test = suite('limits of several workers')

const TEXT = `
config: { workers: 2 }
gateways: { default: { port: 0, address: 127.0.0.1 } }
routes:
- name: all
  policies:
    rateLimit: { local: [{ requests: 50, unit: Hours }] }
    directResponse: { status: 200, body: here }
`

const STARTED = /started bind .*port=(\d+) worker=/

function ask(port: number, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, agent }, (answer) => {
      answer.resume().once('end', () => resolve(answer.statusCode ?? 0))
    }).once('error', reject)
  })
}

test('two processes admit exactly as many requests as one', async () => {
  const program = new Program('gateway', ['-c', TEXT])
  const agents = Array.from({ length: 20 }, () => new Agent({ keepAlive: true, maxSockets: 1 }))
  try {
    await program.prints(/started workers/)
    await program.prints(STARTED)
    const port = Number(STARTED.exec(program.stdout)?.[1])
    const requests = Array.from({ length: 200 }, (_, at) => ask(port, agents[at % 20]!))
    const answers = await deadline(Promise.all(requests), 20_000, '200 answers')
    assert.is(answers.filter((status) => status === 200).length, 50)
    assert.is(answers.filter((status) => status === 429).length, 150)
    const served = (text: string, worker: number): number =>
      text.split('\n').filter((line) => / http\.status=/.test(line) && line.endsWith(`=${worker}`))
        .length
    await program.prints((text) => served(text, 1) + served(text, 2) === 200)
    assert.is(served(program.stdout, 1), 100)
    program.signal('SIGTERM')
    assert.is(await program.exit(), 0)
  } finally {
    for (const agent of agents) agent.destroy()
    await program.kill()
  }
})

test.run()
