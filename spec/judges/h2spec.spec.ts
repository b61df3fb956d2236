// h2spec, if it is installed (`GATEWAY_H2SPEC` or on PATH), against a plain and a TLS port: a check that a bare
// node:http2 server passes must not fail.

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createSecureServer, createServer } from 'node:http2'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { deadline } from '../support/deadline.ts'
import { Folder } from '../support/folder.ts'
import { Stage } from '../support/gateway.ts'
import { isInstalled } from '../support/smuggling/proxies.ts'
import { CERT, KEY } from '../support/tls-pair.ts'
import { reportSkip } from '../support/report-skip.ts'

const judge = suite('judges/h2spec')
const stage = new Stage()
judge.after.each(() => stage.clear())

const PROGRAM = process.env['GATEWAY_H2SPEC'] ?? 'h2spec'
const MAX_MS = 120_000
const PAGE = 'routes: [{ name: page, policies: { directResponse: { status: 200, body: hi } } }]\n'

/** Failures of the gateway only, with the reason. */
const KNOWN: Record<string, string> = {
  'http2/3.5 Sends invalid connection preface': 'the port also serves HTTP/1.1, and answers 400',
}

/** The failed checks, each as section and name. */
async function failures(port: number, ...options: string[]): Promise<string[]> {
  const folder = stage.add(new Folder())
  const args = ['-h', '127.0.0.1', '-p', `${port}`, '-j', folder.at('report.xml'), ...options]
  const child = spawn(PROGRAM, args, { stdio: 'ignore' })
  const ended = new Promise((resolve) => child.once('close', resolve).once('error', resolve))
  try {
    await deadline(ended, MAX_MS, 'h2spec to end')
  } finally {
    child.kill('SIGKILL')
  }
  const report = readFileSync(folder.at('report.xml'), 'utf8')
  const cases = [...report.matchAll(/<testcase package="(.*?)" classname="(.*?)".*?<\/testcase>/gs)]
  assert.ok(cases.length > 100, report)
  return cases
    .filter(([text]) => /<(?:failure|error)\b/.test(text))
    .map(([, section, name]) => `${section} ${name}`)
}

type Transport = 'plain' | 'tls'

async function bareServer(transport: Transport): Promise<number> {
  const answer = (request: Http2ServerRequest, response: Http2ServerResponse): void => {
    request.resume()
    response.end('hi')
  }
  const server =
    transport === 'tls'
      ? createSecureServer({ cert: CERT, key: KEY }, answer)
      : createServer(answer)
  const listening = new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  await deadline(listening, 30_000, 'the bare server to listen')
  stage.add({ close: () => void server.close() })
  return (server.address() as AddressInfo).port
}

async function compare(port: number, transport: Transport): Promise<void> {
  const options = transport === 'tls' ? ['-t', '-k'] : []
  const ours = await failures(port, ...options)
  const bare = await failures(await bareServer(transport), ...options)
  const more = ours.filter((name) => !bare.includes(name) && KNOWN[name] === undefined)
  assert.equal(more, [])
}

if (isInstalled(PROGRAM)) {
  judge('a plain port passes all checks that a bare server passes', async () => {
    const gateway = await stage.gateway(PAGE)
    await compare(gateway.port, 'plain')
  })

  judge('a TLS port passes all checks that a bare server passes', async () => {
    const folder = stage.add(new Folder())
    const tls = `{ cert: ${folder.write('cert.pem', CERT)}, key: ${folder.write('key.pem', KEY)} }`
    const gateway = await stage.gateway(
      `gateways: { default: { port: \${PORT}, address: 127.0.0.1, tls: ${tls} } }\n${PAGE}`,
    )
    await compare(gateway.port, 'tls')
  })
} else reportSkip('h2spec', 'it is not installed')

judge.run()
