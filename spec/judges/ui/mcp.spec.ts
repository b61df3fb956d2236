// MCP in a browser: servers, sessions and children, and a playground that calls a tool with a form made from its schema.

import * as assert from 'uvu/assert'
import type { McpView } from '../../../lib/admin/page-api/page-api-types.ts'
import { until } from '../../support/idp/until.ts'
import { judgeOf } from '../../support/ui/judge.ts'
import type { Visit } from '../../support/ui/visit.ts'
import { assertPresentable } from '../../support/ui/presentable.ts'
import { Shop } from '../../support/ui/shop.ts'

const WAIT_MS = 30_000

const mcp = judgeOf('ui: MCP', () => Shop.start())

async function connect(visit: Visit): Promise<void> {
  await visit.open('mcp')
  await visit.tabTo(visit.page.getByRole('button', { name: 'Connect' }))
  await visit.press('Enter')
  await visit.sees('main', /connected\s+Demo server of the gateway/)
}

async function sessionsOf(world: Shop): Promise<number> {
  const { backends } = await world.fetchJson<McpView>('/api/mcp')
  return backends.reduce((sum, { open }) => sum + open, 0)
}

async function choose(visit: Visit, name: string): Promise<void> {
  const item = visit.page.getByRole('button', { name: new RegExp(`^${name}\\b`) })
  await item.waitFor()
  await visit.tabTo(item)
  await visit.press('Enter')
  await visit.sees('.item-view h2', name)
}

mcp('lists the servers and the addresses for clients', async ({ world, visit }) => {
  await visit.open('mcp')
  await visit.sees('main', new RegExp(`tools\\s+http://\\S+:${world.port}/mcp`))
  await visit.sees('.targets', /demo\s+stdio/)
})

mcp('a tool is called by keyboard with a form made from its schema', async (seat) => {
  const { visit } = seat
  await connect(visit)
  await choose(visit, 'add')
  await visit.sees('.item-view', 'Adds two numbers')
  const form = visit.page.locator('.item-view form')
  await visit.tabTo(form.getByRole('textbox', { name: /^a\b/ }))
  await visit.page.keyboard.type('20')
  await visit.tabTo(form.getByRole('textbox', { name: /^b\b/ }))
  await visit.page.keyboard.type('22')
  await visit.press('Enter')
  await visit.sees('.result', /^\W*42$/m)
  await visit.tabTo(form.getByRole('textbox', { name: /^b\b/ }))
  await visit.press('Control+a')
  await visit.page.keyboard.type('many')
  await visit.press('Enter')
  await visit.sees(form.getByRole('alert'), /number/)
})

mcp('a slow tool shows its progress, and can be cancelled', async ({ visit }) => {
  await connect(visit)
  await choose(visit, 'slow_count')
  const form = visit.page.locator('.item-view form')
  await form.getByRole('textbox', { name: /^to\b/ }).fill('1000')
  await form.getByRole('button', { name: 'Call', exact: true }).click()
  await visit.sees('.result', /running[^]*\d+ of 1000/)
  await form.getByRole('button', { name: 'Cancel' }).click()
  await visit.sees('.result', 'cancelled')
})

mcp('shows prompts and resources as well', async ({ visit }) => {
  await connect(visit)
  await visit.page.getByRole('button', { name: /^Prompts/ }).click()
  await choose(visit, 'greet')
  await visit.page
    .locator('.item-view form')
    .getByRole('textbox', { name: /^name\b/ })
    .fill('Grace')
  await visit.page.locator('.item-view').getByRole('button', { name: 'Get', exact: true }).click()
  await visit.sees('.result', /Grace/)
  await visit.page.getByRole('button', { name: /^Resources/ }).click()
  await choose(visit, 'demo://readme')
  await visit.page.locator('.item-view').getByRole('button', { name: 'Read', exact: true }).click()
  await visit.sees('.result', 'This text was read through the gateway.')
})

mcp('shows its session and its child process until it disconnects', async (seat) => {
  const { world, visit } = seat
  await until(
    () => sessionsOf(world),
    (open) => open === 0,
    WAIT_MS,
  )
  await connect(visit)
  await visit.page.locator('.tabs a', { hasText: /^Sessions/ }).click()
  await visit.sees('main table tbody tr', /open|ready/)
  await visit.page.locator('.tabs a', { hasText: /^Child processes/ }).click()
  await visit.sees('.children li', /demo[^]*pid\s+\d+/)
  await assertPresentable(visit)
  await visit.page.locator('.tabs a', { hasText: /^Playground/ }).click()
  await visit.page.getByRole('button', { name: 'Disconnect' }).click()
  await visit.page.locator('.tabs a', { hasText: /^Sessions/ }).click()
  await visit.sees('main', 'No sessions')
})

mcp('closing the page ends its session', async ({ world, visit }) => {
  await connect(visit)
  await until(
    () => sessionsOf(world),
    (open) => open === 1,
    WAIT_MS,
  )
  await visit.page.goto('about:blank')
  await until(
    () => sessionsOf(world),
    (open) => open === 0,
    WAIT_MS,
  )
})

mcp('a session and its results survive navigation to another page', async ({ world, visit }) => {
  await connect(visit)
  await choose(visit, 'echo')
  const text = visit.page.locator('.item-view form').getByRole('textbox', { name: /^text\b/ })
  await text.fill('still here')
  await visit.press('Enter')
  await visit.sees('.result', 'still here')
  const [session] = (await world.fetchJson<McpView>('/api/mcp')).backends[0]!.sessions.shown
  await visit.follow('logs')
  await visit.follow('mcp')
  await visit.sees('.result', 'still here')
  assert.is(await text.inputValue(), 'still here')
  const [kept] = (await world.fetchJson<McpView>('/api/mcp')).backends[0]!.sessions.shown
  assert.is(kept?.id, session!.id)
  // A selection in one list does not apply to another.
  await visit.page.getByRole('button', { name: /^Prompts/ }).click()
  await visit.sees('.bench', 'Select a tool, a prompt or a resource.')
})

mcp('the focus stays in place when a session opens and ends', async ({ visit }) => {
  await connect(visit)
  await visit.page.locator('.items-list li button:focus').first().waitFor()
  await visit.tabTo(visit.page.getByRole('button', { name: 'Disconnect' }))
  await visit.press('Enter')
  await visit.page.locator('.connect .main:focus').waitFor()
})

mcp('a call can be traced', async ({ visit }) => {
  await connect(visit)
  await choose(visit, 'echo')
  await visit.page
    .locator('.item-view form')
    .getByRole('textbox', { name: /^text\b/ })
    .fill('watched')
  await visit.page.getByRole('button', { name: 'Trace this call' }).click()
  await visit.sees('.result', 'watched')
  await visit.page.getByRole('link', { name: 'Show the trace of this call' }).click()
  await visit.sees('.trace-outcome', /POST \/mcp[^]*tools\/call to demo/)
})

mcp('on a phone the list makes room for the selected item', async ({ visit }) => {
  await visit.page.setViewportSize({ width: 390, height: 844 })
  await connect(visit)
  await visit.page.locator('.items-list li button', { hasText: 'echo' }).click()
  await visit.page.locator('.items-list ul').waitFor({ state: 'hidden' })
  await visit.page.getByRole('button', { name: /^Show all \d+ tools/ }).click()
  await visit.page.locator('.items-list ul').waitFor()
})

mcp('the overview shows the call like any other', async ({ world, visit }) => {
  await connect(visit)
  await choose(visit, 'echo')
  await visit.page
    .locator('.item-view form')
    .getByRole('textbox', { name: /^text\b/ })
    .fill('over here')
  await visit.press('Enter')
  await visit.sees('.result', 'over here')
  await visit.follow('')
  await visit.sees('.requests tbody tr', /POST\s+\/mcp\s+tools\s+tools\/call echo/)
  assert.is(await world.send('/hello'), 200)
})

mcp('is accessible in light and dark, and fits a phone', async ({ visit }) => {
  await connect(visit)
  await choose(visit, 'slow_count')
  await visit.page.locator('.item-view form').getByRole('textbox', { name: /^to\b/ }).fill('2')
  await visit.page.locator('.item-view').getByRole('button', { name: 'Call', exact: true }).click()
  await visit.page.locator('.result .badge.good').waitFor()
  await assertPresentable(visit)
})

mcp.run()
