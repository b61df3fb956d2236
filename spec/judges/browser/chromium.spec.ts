// Which Chromium the specs use, and what they report if there is none.

import { chmodSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Chromium, findChromium } from '../../support/browser.ts'
import { Folder } from '../../support/folder.ts'
import { Stage } from '../../support/gateway.ts'
import { reportSkip } from '../../support/report-skip.ts'

const browser = suite('support/browser')
const stage = new Stage()
browser.after.each(() => stage.clear())

function program(folder: Folder, name: string, text: string): string {
  const path = folder.write(name, `#!/bin/sh\n${text}\n`)
  chmodSync(path, 0o755)
  return path
}

browser('the first known command that runs is used', () => {
  const folder = stage.add(new Folder())
  const other = stage.add(new Folder())
  const PATH = `${folder.path}:${other.path}`
  program(folder, 'chromium', 'echo install me first; exit 1')
  const chrome = program(folder, 'google-chrome', 'exit 0')
  assert.equal(findChromium({ PATH }), { kind: 'found', path: chrome })
  const small = program(other, 'chromium-headless-shell', 'exit 0')
  assert.equal(findChromium({ PATH }), { kind: 'found', path: small })
})

browser('without a browser, the report says how to install one', () => {
  const folder = stage.add(new Folder())
  const found = findChromium({ PATH: folder.path })
  assert.is(found.kind, 'missing')
  if (found.kind === 'missing')
    assert.match(found.why, /^no Chromium \(.*chromium-headless-shell.*GATEWAY_CHROMIUM\)$/)
})

browser(
  'a configured path is used, "off" disables, and a path that does not run is an error',
  () => {
    const folder = stage.add(new Folder())
    const GATEWAY_CHROMIUM = program(folder, 'mine', 'exit 0')
    assert.equal(findChromium({ GATEWAY_CHROMIUM }), { kind: 'found', path: GATEWAY_CHROMIUM })
    assert.equal(findChromium({ GATEWAY_CHROMIUM: 'off' }), {
      kind: 'missing',
      why: 'GATEWAY_CHROMIUM is off',
    })
    assert.throws(() => findChromium({ GATEWAY_CHROMIUM: folder.at('none') }), /does not run/)
  },
)

const found = findChromium()
if (found.kind === 'found')
  browser('each opened page is empty', async () => {
    const chromium = stage.add(await Chromium.start(found.path))
    const page = await chromium.page()
    await page.goto('data:text/html,<title>hello</title>')
    assert.is(await page.title(), 'hello')
    assert.is(await (await chromium.page()).title(), '')
  })
else reportSkip('a browser', found.why)

browser.run()
