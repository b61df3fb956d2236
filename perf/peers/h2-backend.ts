// A backend that speaks HTTP/2 over TLS and answers every request with the response of the small POST.
// Arguments: port, folder with cert.pem and key.pem.
import { readFileSync } from 'node:fs'
import { createSecureServer } from 'node:http2'
import { join } from 'node:path'
import { ANSWER_BODY } from '../fixtures.ts'

const [port, folder = '.'] = process.argv.slice(2)

const server = createSecureServer({
  cert: readFileSync(join(folder, 'cert.pem')),
  key: readFileSync(join(folder, 'key.pem')),
})
server.on('stream', (stream) => {
  stream.on('error', () => {})
  stream.resume()
  stream.on('end', () => {
    stream.respond({
      ':status': 200,
      'content-type': 'application/json',
      'content-length': ANSWER_BODY.length,
    })
    stream.end(ANSWER_BODY)
  })
})
server.listen(Number(port), '127.0.0.1', 4096)
