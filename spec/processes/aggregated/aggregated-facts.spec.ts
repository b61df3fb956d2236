// The last facts of a stopping worker, concurrent with other requests to it.

import type { ServerResponse } from 'node:http'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { WorkerSet } from '../../../lib/processes/aggregated/ask-workers.ts'
import { AggregatedFacts } from '../../../lib/processes/aggregated/aggregated-facts.ts'
import type { AggregatedFactsOptions } from '../../../lib/processes/aggregated/aggregated-facts.ts'
import { WorkerStage } from '../../support/worker-stage.ts'
import { deadline } from '../../support/deadline.ts'
import { LogRecorder, Stage } from '../../support/gateway.ts'

const WAIT_MS = 30_000

const facts = suite('aggregated/facts')
const stage = new Stage()
facts.after.each(() => stage.clear())

function counted(requests: number): string {
  const counts = { requests, errors: 0, refused: 0 }
  return JSON.stringify({ traffic: { traffic: [['r', counts]], health: [], keySets: [] } })
}

async function scene(serve: (response: ServerResponse) => void) {
  const endpoints = await new WorkerStage(stage, 'routes: []').scripted(1, (_, response) =>
    serve(response),
  )
  const workers = new WorkerSet()
  workers.add(endpoints)
  const known = new AggregatedFacts(workers, {
    log: new LogRecorder(() => {}),
  } as unknown as AggregatedFactsOptions)
  const collectLast = (): Promise<void> =>
    deadline(known.collectLast(endpoints), WAIT_MS, 'the last facts')
  return { known, collectLast, requests: () => known.traffic().get('r')?.requests }
}

facts('an older answer that arrives after the last facts is ignored', async () => {
  const held: ServerResponse[] = []
  let hold = (): void => {}
  const isHeld = new Promise<void>((resolve) => (hold = resolve))
  const { known, collectLast, requests } = await scene((response) => {
    if (held.length > 0) response.end(counted(7))
    else held.push(response)
    hold()
  })
  const older = known.refresh('traffic')
  await deadline(isHeld, WAIT_MS, 'the older question')
  await collectLast()
  assert.is(requests(), 7)
  held[0]!.end(counted(3))
  await deadline(older, WAIT_MS, 'the older answer')
  assert.is(requests(), 7)
})

facts('a worker in cooldown is asked for its last facts', async () => {
  let answered = 0
  const { known, collectLast, requests } = await scene((response) => {
    response.statusCode = ++answered === 1 ? 500 : 200
    response.end(counted(7))
  })
  await deadline(known.refresh('traffic'), WAIT_MS, 'a failure')
  await deadline(known.refresh('traffic'), WAIT_MS, 'nothing')
  assert.is(answered, 1)
  await collectLast()
  assert.is(requests(), 7)
})

facts.run()
