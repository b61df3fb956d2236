import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { GracefulShutdown } from '../../lib/processes/shutdown.ts'
import { deadline } from '../support/deadline.ts'
import { LogRecorder } from '../support/gateway.ts'
import type { Line } from '../support/gateway.ts'

const test = suite('process/shutdown')

async function ended(stop: () => Promise<void>): Promise<{ code: number; lines: Line[] }> {
  const lines: Line[] = []
  const exited = new Promise<number>((exit) => {
    const shutdown = new GracefulShutdown({
      log: new LogRecorder((line) => lines.push(line)),
      stop,
      exit,
    })
    shutdown.begin('SIGTERM')
    shutdown.begin('SIGTERM')
  })
  return { code: await deadline(exited, 30_000, 'the end'), lines }
}

test('exits once with 0 when all has stopped', async () => {
  const { code, lines } = await ended(() => Promise.resolve())
  assert.is(code, 0)
  assert.equal(
    lines.map(({ message }) => message),
    ['shutting down', 'stopped'],
  )
})

test('exits with 1 and logs the cause when the shutdown fails', async () => {
  const { code, lines } = await ended(() => Promise.reject(new Error('stuck')))
  assert.is(code, 1)
  assert.match(String(lines.at(-1)?.['cause']), /stuck/)
})

/** A shutdown whose stop never ends, and its exit codes so far. */
function endless(): { shutdown: GracefulShutdown; codes: number[] } {
  const codes: number[] = []
  const exit = (code: number): void => void codes.push(code)
  const stop = (): Promise<void> => new Promise(() => {})
  return { shutdown: new GracefulShutdown({ log: new LogRecorder(() => {}), stop, exit }), codes }
}

test('the first signal lets running requests finish, the second exits at once', () => {
  const { shutdown, codes } = endless()
  shutdown.receiveSignal('SIGTERM')
  assert.is(shutdown.state, 'stopping')
  assert.equal(codes, [])
  shutdown.receiveSignal('SIGINT')
  assert.equal(codes, [0])
})

test('the first signal cuts nothing when a shutdown has begun already', () => {
  const { shutdown, codes } = endless()
  shutdown.begin('/quitquitquit')
  shutdown.receiveSignal('SIGTERM')
  assert.equal(codes, [])
  shutdown.receiveSignal('SIGTERM')
  assert.equal(codes, [0])
})

test.run()
