// Live traces in a browser: the next request is watched as it passes, a refusal is explained, streams and bodies are shown,
// and a trace travels as a file.

import { readFileSync } from 'node:fs'
import * as assert from 'uvu/assert'
import { judgeOf } from '../../support/ui/judge.ts'
import type { Visit } from '../../support/ui/visit.ts'
import { assertPresentable } from '../../support/ui/presentable.ts'
import { Shop } from '../../support/ui/shop.ts'

const trace = judgeOf('ui: live trace', () => Shop.start())

/** By the keyboard: the expression, if any, and the button. */
async function arm(visit: Visit, expression = ''): Promise<void> {
  await visit.tabTo(visit.page.getByRole('textbox'))
  if (expression !== '') await visit.page.keyboard.type(expression)
  await visit.tabTo(visit.page.getByRole('button', { name: 'Trace the next request' }))
  await visit.press('Enter')
  await visit.sees('.trace-top', 'Waiting for a request')
}

async function chooseStep(visit: Visit, label: RegExp): Promise<void> {
  await visit.page.locator('.trace-timeline .step', { hasText: label }).first().click()
}

trace('a 403 is explained by the rule that stands in the way', async ({ world, visit }) => {
  await visit.open('trace')
  await arm(visit)
  assert.is(await world.send('/team/plans?of=red', { headers: { 'x-team': 'blue' } }), 403)
  await visit.sees('.trace-outcome', 'GET /team/plans')
  await visit.sees('.trace-outcome .sentence', /403[^]*request\.headers\["x-team"\] == "red"/)
  // The step that decided is the one that is shown.
  await visit.sees('.trace-details .rules', /require\s+request\.headers\["x-team"\] == "red"\s+no/)
  const selected = visit.page.locator('.trace-timeline [aria-selected=true]')
  await visit.sees(selected, /Authz/)
  await visit.tabTo(visit.page.getByRole('listbox'))
  await visit.press('Home')
  await visit.sees(selected, /^1\s+Request/i)
})

trace('waits for the request that fits', async ({ world, visit }) => {
  await visit.open('trace')
  await arm(visit, 'request.path == "/down"')
  assert.is(await world.send('/hello'), 200)
  assert.is(await world.send('/down'), 503)
  await visit.sees('.trace-outcome', 'GET /down')
  await visit.sees('.trace-outcome .sentence', /503[^]*(?:refused|reached|connect)/)
})

trace('an expression that is none is told so', async ({ visit }) => {
  await visit.open('trace')
  visit.expect(/status of 400/)
  await visit.page.getByRole('textbox').fill('request.path ==')
  await visit.press('Enter')
  await visit.sees('#trace-error', /\S/)
})

trace('shows the events of a stream as they came, with what they say', async (seat) => {
  const { world, visit } = seat
  await visit.open('trace')
  await arm(visit)
  assert.is(await world.chat('red', 'Say this again'), 200)
  await visit.sees('.trace-outcome .sentence', '200')
  await chooseStep(visit, /Body Snapshot.*response/s)
  await visit.sees('.trace-events', 'What the model said, in one piece')
  await visit.sees('.trace-events .events li', /\S/)
  assert.ok((await visit.page.locator('.trace-events .events li').count()) > 2)
  await visit.page.locator('.trace-events summary').first().click()
  await visit.sees('.trace-events pre', 'Say this again')
})

trace('a saved trace can be opened again', async ({ world, visit }) => {
  await visit.open('trace')
  await arm(visit)
  assert.is(await world.send('/hello'), 200)
  await visit.sees('.trace-outcome .sentence', '200')
  const saved = visit.page.waitForEvent('download')
  await visit.page.getByRole('button', { name: 'Save as JSONL' }).click()
  const path = await (await saved).path()
  const lines = readFileSync(path, 'utf8').trim().split('\n')
  assert.ok(lines.length > 3)
  for (const line of lines) assert.type(JSON.parse(line), 'object')
  await visit.open('trace')
  await visit.page.locator('input[type=file]').setInputFiles(path)
  await visit.sees('.trace-outcome', 'GET /hello')
  await visit.sees('.trace-outcome .sentence', '200')
})

trace('everybody can read it, in light and dark, on a telephone', async ({ world, visit }) => {
  await visit.open('trace')
  await assertPresentable(visit)
  await arm(visit)
  assert.is(await world.send('/team', { headers: { 'x-team': 'blue' } }), 403)
  await visit.page.locator('.trace-details .rules').waitFor()
  await assertPresentable(visit)
})

trace.run()
