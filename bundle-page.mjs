// Bundles the browser application into a few files with hashed names, each also compressed, and writes the manifest that
// the server reads.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { licensesOf } from './bundle-licenses.mjs'

const SOURCE = 'lib/page'

/** Where the browser finds the files. */
const SERVED_AT = '/ui/'

/** The MCP SDK validates by default with a library that needs `eval`, which the page's policy forbids; it is never called. */
const withoutAjv = {
  name: 'without ajv',
  setup: (bundler) => {
    bundler.onResolve({ filter: /^ajv(?:-formats)?$/ }, ({ path }) => ({ path, namespace: 'none' }))
    bundler.onLoad({ filter: /.*/, namespace: 'none' }, () => ({ contents: 'export default {}' }))
  },
}

export async function bundlePage(out) {
  const folder = `${out}/lib/page/assets`
  mkdirSync(folder, { recursive: true })
  const { outputFiles, metafile } = await build({
    entryPoints: { main: `${SOURCE}/main.ts`, page: `${SOURCE}/style/page.css` },
    outdir: folder,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    minify: true,
    write: false,
    metafile: true,
    platform: 'browser',
    format: 'esm',
    target: 'es2022',
    legalComments: 'none',
    plugins: [withoutAjv],
    logLevel: 'warning',
  })
  const files = outputFiles.map(({ path, contents }) => [basename(path), contents])
  const icon = readFileSync(`${SOURCE}/icon.svg`)
  files.push([`icon-${hashOf(icon)}.svg`, icon])
  for (const [name, contents] of files) writeCompressed(`${folder}/${name}`, contents)
  const find = (start, end) =>
    files.map(([name]) => name).find((name) => name.startsWith(start) && name.endsWith(end))
  const page = readFileSync(`${SOURCE}/index.html`, 'utf8')
    .replace('{{icon}}', SERVED_AT + find('icon-', '.svg'))
    .replace('{{style}}', SERVED_AT + find('page-', '.css'))
    .replace('{{script}}', SERVED_AT + find('main-', '.js'))
    .replace('{{preload}}', SERVED_AT + find('chunk-', '.js'))
  writeFileSync(`${folder}/index.html`, page)
  writeFileSync(`${folder}/favicon.ico`, readFileSync(`${SOURCE}/favicon.ico`))
  writeFileSync(`${folder}/LICENSES.txt`, licensesOf(Object.keys(metafile.inputs)))
  const names = files.map(([name]) => name)
  writeFileSync(`${folder}/manifest.json`, `${JSON.stringify({ files: names }, null, 2)}\n`)
}

function writeCompressed(path, contents) {
  writeFileSync(path, contents)
  const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY }
  writeFileSync(`${path}.br`, brotliCompressSync(contents, { params }))
  writeFileSync(`${path}.gz`, gzipSync(contents, { level: constants.Z_BEST_COMPRESSION }))
}

function hashOf(contents) {
  return createHash('sha256').update(contents).digest('hex').slice(0, 8).toUpperCase()
}
