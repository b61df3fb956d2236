// The fuzzing client of Autobahn, if it is installed (`GATEWAY_WSTEST` or `wstest` on PATH): an echo server of websockets behaves
// through the gateway as it does directly.

import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { WebSocketServer } from 'ws'
import { deadline } from '../support/deadline.ts'
import { Folder } from '../support/folder.ts'
import { Stage, routeTo } from '../support/gateway.ts'
import { reportSkip } from '../support/report-skip.ts'

const judge = suite('judges/autobahn')
const stage = new Stage()
judge.after.each(() => stage.clear())

const PROGRAM = process.env['GATEWAY_WSTEST'] ?? 'wstest'
const MAX_MS = 600_000
/** Minutes of large messages, and compression, which is between the client and the server. */
const EXCLUDED = ['9.*', '12.*', '13.*']

type Report = Record<string, Record<string, { behavior: string; behaviorClose: string }>>

async function startEchoServer(): Promise<number> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  server.on('connection', (socket) => {
    socket.on('error', () => {})
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }))
  })
  const listening = new Promise((resolve) => server.once('listening', resolve))
  await deadline(listening, 30_000, 'the echo server to listen')
  stage.add({
    close() {
      for (const client of server.clients) client.terminate()
      server.close()
    },
  })
  return (server.address() as AddressInfo).port
}

/** Plays all cases against both ports. */
async function play(folder: Folder, direct: number, gateway: number): Promise<Report> {
  const settings = {
    outdir: folder.at('report'),
    servers: [
      { agent: 'direct', url: `ws://127.0.0.1:${direct}` },
      { agent: 'gateway', url: `ws://127.0.0.1:${gateway}` },
    ],
    cases: ['*'],
    'exclude-cases': EXCLUDED,
    'exclude-agent-cases': {},
  }
  const file = folder.write('settings.json', JSON.stringify(settings))
  const child = spawn(PROGRAM, ['-m', 'fuzzingclient', '-s', file], { stdio: 'ignore' })
  const ended = new Promise((resolve) => child.once('close', resolve).once('error', resolve))
  try {
    await deadline(ended, MAX_MS, 'wstest to end')
  } finally {
    child.kill('SIGKILL')
  }
  return JSON.parse(readFileSync(folder.at('report/index.json'), 'utf8')) as Report
}

if (spawnSync(PROGRAM, ['--help']).status === 0) {
  judge('every case behaves through the gateway as it does directly', async () => {
    const port = await startEchoServer()
    const gateway = await stage.gateway(routeTo({ port }))
    const report = await play(stage.add(new Folder()), port, gateway.port)
    const cases = Object.entries(report['direct'] ?? {})
    assert.ok(cases.length > 200, `${cases.length} cases`)
    const different = cases.filter(([name, { behavior, behaviorClose }]) => {
      const ours = report['gateway']?.[name]
      return ours?.behavior !== behavior || ours.behaviorClose !== behaviorClose
    })
    assert.equal(
      different.map(([name]) => name),
      [],
    )
  })
} else reportSkip('Autobahn', `${PROGRAM} is not installed, or does not run (it needs Python 2)`)

judge.run()
