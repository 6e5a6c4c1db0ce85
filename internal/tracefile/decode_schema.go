package tracefile

// message is what OTLP knows of a JSON object: its fields, under both names that they may have.
type message map[string]schemaField

type schemaField struct {
	message func() message // of an object; nil for a value
	list    bool           // a list of such objects
	id      int            // the bytes of an id, zero for anything else
}

func plain() schemaField                   { return schemaField{} }
func idOf(bytes int) schemaField           { return schemaField{id: bytes} }
func oneOf(of func() message) schemaField  { return schemaField{message: of} }
func manyOf(of func() message) schemaField { return schemaField{message: of, list: true} }

// The messages of opentelemetry/proto/{trace,common,resource}/v1 v1.8.0, less the lists that
// salvager takes out before.
var (
	resourceSpansMessage = withSnakeCase(message{"resource": oneOf(func() message { return resourceMessage }), "schemaUrl": plain()})
	scopeSpansMessage    = withSnakeCase(message{"scope": oneOf(func() message { return scopeMessage }), "schemaUrl": plain()})

	resourceMessage = withSnakeCase(message{
		"attributes": manyOf(keyValue), "droppedAttributesCount": plain(),
		"entityRefs": manyOf(func() message { return entityRefMessage }),
	})
	entityRefMessage = withSnakeCase(message{"schemaUrl": plain(), "type": plain(), "idKeys": plain(), "descriptionKeys": plain()})
	scopeMessage     = withSnakeCase(message{
		"name": plain(), "version": plain(), "attributes": manyOf(keyValue), "droppedAttributesCount": plain(),
	})
	spanMessage = withSnakeCase(message{
		"traceId": idOf(16), "spanId": idOf(8), "traceState": plain(), "parentSpanId": idOf(8), "flags": plain(),
		"name": plain(), "kind": plain(), "startTimeUnixNano": plain(), "endTimeUnixNano": plain(),
		"attributes": manyOf(keyValue), "droppedAttributesCount": plain(),
		"events": manyOf(func() message { return eventMessage }), "droppedEventsCount": plain(),
		"links": manyOf(func() message { return linkMessage }), "droppedLinksCount": plain(),
		"status": oneOf(func() message { return statusMessage }),
	})
	eventMessage = withSnakeCase(message{
		"timeUnixNano": plain(), "name": plain(), "attributes": manyOf(keyValue), "droppedAttributesCount": plain(),
	})
	linkMessage = withSnakeCase(message{
		"traceId": idOf(16), "spanId": idOf(8), "traceState": plain(), "flags": plain(),
		"attributes": manyOf(keyValue), "droppedAttributesCount": plain(),
	})
	statusMessage   = message{"message": plain(), "code": plain()}
	keyValueMessage = withSnakeCase(message{"key": plain(), "keyStrindex": plain(), "value": oneOf(anyValue)})
	listMessage     = message{"values": manyOf(anyValue)}
	kvlistMessage   = message{"values": manyOf(keyValue)}
	anyValueMessage message
)

func keyValue() message { return keyValueMessage }
func anyValue() message { return anyValueMessage }

func init() { // here, because a value can hold values
	anyValueMessage = withSnakeCase(message{
		"stringValue": plain(), "boolValue": plain(), "intValue": plain(), "doubleValue": plain(), "bytesValue": plain(),
		"stringValueStrindex": plain(),
		"arrayValue":          oneOf(func() message { return listMessage }),
		"kvlistValue":         oneOf(func() message { return kvlistMessage }),
	})
}

// withSnakeCase adds the names that the fields have in protobuf, which its JSON form allows too.
func withSnakeCase(m message) message {
	for name, f := range m {
		var snake []byte
		for _, c := range []byte(name) {
			if c >= 'A' && c <= 'Z' {
				snake = append(snake, '_')
				c |= 0x20
			}
			snake = append(snake, c)
		}
		m[string(snake)] = f
	}
	return m
}
