// Request smuggling: requests that parsers could read differently, through the gateway alone and in chains with nginx and
// haproxy. Each request at the backend was answered to its sender, and requests of other clients are not affected.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Stage, routeTo } from '../support/gateway.ts'
import { RawClient } from '../support/raw-client.ts'
import { Proxy, isInstalled } from '../support/smuggling/proxies.ts'
import type { ProxyName } from '../support/smuggling/proxies.ts'
import { Recorder } from '../support/smuggling/recorder.ts'
import { VECTORS } from '../support/smuggling/vectors.ts'
import { reportSkip } from '../support/report-skip.ts'

const judge = suite('judges/smuggling')
const stage = new Stage()
judge.after.each(() => stage.clear())

const TIMES = 'frontendPolicies: { http: { bodyIdleTimeout: 500ms, headTimeout: 500ms } }\n'
const LAST_REQUEST = 'GET /last HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n'

interface Chain {
  /** The port for clients. */
  readonly port: number
  readonly backend: Recorder
}

async function gatewayAlone(): Promise<Chain> {
  const backend = stage.add(await Recorder.start())
  const { port } = await stage.gateway(TIMES + routeTo(backend))
  return { port, backend }
}

async function proxyThenGateway(name: ProxyName): Promise<Chain> {
  const { port, backend } = await gatewayAlone()
  return { port: stage.add(await Proxy.start(name, port)).port, backend }
}

async function gatewayThenProxy(name: ProxyName): Promise<Chain> {
  const backend = stage.add(await Recorder.start())
  const proxy = stage.add(await Proxy.start(name, backend.port))
  const { port } = await stage.gateway(TIMES + routeTo(proxy))
  return { port, backend }
}

/** The statuses of all responses, and the request numbers in the responses of the backend. */
function parseResponses(text: string): { statuses: number[]; numbers: number[] } {
  const statuses = [...text.matchAll(/HTTP\/1\.[01] (\d{3})/g)].map(([, status]) => Number(status))
  const numbers = [...text.matchAll(/^seen (\d+) /gm)].map(([, number]) => Number(number))
  return { statuses, numbers }
}

/** Sends the bytes and a last request that always ends the connection, and returns the responses. */
async function attack(port: number, bytes: string): Promise<ReturnType<typeof parseResponses>> {
  const client = await RawClient.connect(port)
  client.send(bytes + LAST_REQUEST)
  const text = await client.untilClosed()
  client.destroy()
  return parseResponses(text)
}

async function ask(port: number, target: string): Promise<string> {
  const client = await RawClient.connect(port)
  client.send(`GET ${target} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`)
  const text = await client.untilClosed()
  client.destroy()
  return text
}

/** Sends all vectors in order over the same backend connections, each followed by a request of another client. */
async function tryAll({ port, backend }: Chain, check: Check): Promise<void> {
  for (const [i, [name, { bytes, status }]] of VECTORS.entries()) {
    const from = backend.requests.length
    const { statuses, numbers } = await attack(port, bytes)
    const answer = await ask(port, `/other${i}`)
    assert.match(answer, new RegExp(`^seen \\d+ /other${i}$`, 'm'), `${name}: the next client`)
    const seen = backend.requests.slice(from).filter(({ target }) => target !== `/other${i}`)
    const stray = seen.filter(({ number }) => !numbers.includes(number))
    assert.equal(stray, [], `${name}: reached the backend, but was not answered to its sender`)
    check(
      name,
      statuses,
      status,
      seen.map(({ target }) => target),
    )
  }
}

type Check = (name: string, statuses: number[], expected: number, targets: string[]) => void

judge(
  'the gateway refuses requests that could be read as a different request, or as two',
  async () => {
    const chain = await gatewayAlone()
    await tryAll(chain, (name, [status], expected, targets) => {
      assert.is(status, expected, name)
      assert.equal(targets, expected < 300 ? ['/first', '/last'] : [], name)
    })
    assert.equal(chain.backend.ambiguous, [])
  },
)

for (const name of ['nginx', 'haproxy'] as const)
  if (isInstalled(name)) {
    judge(`agrees with ${name} in front of it on where each request ends`, async () => {
      const chain = await proxyThenGateway(name)
      await tryAll(chain, () => {})
      assert.equal(chain.backend.ambiguous, [])
    })

    judge(`sends ${name} after it nothing that could be read as another request`, async () => {
      await tryAll(await gatewayThenProxy(name), (vector, [status], expected, targets) => {
        assert.is(status, expected, vector)
        assert.equal(targets, expected < 300 ? ['/first', '/last'] : [], vector)
      })
    })
  } else reportSkip(`a chain with ${name}`, 'it is not installed')

judge.run()
