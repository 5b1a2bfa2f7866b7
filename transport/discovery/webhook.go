package discovery

import (
	"github.com/swaggest/openapi-go/openapi31"
)

// describeWebhooks describes the message that the callback address of a job gets.
func (c Config) describeWebhooks() map[string]openapi31.PathItemOrReference {
	header := func(name, text string) openapi31.ParameterOrReference {
		p := openapi31.Parameter{Name: name, In: openapi31.ParameterInHeader, Description: &text, Schema: schema{"type": "string"}}
		p.WithRequired(true)
		return openapi31.ParameterOrReference{Parameter: &p}
	}
	body := openapi31.RequestBody{Content: contents([]media{jsonOf("WebhookMessage")})}
	body.WithRequired(true)
	post := new(openapi31.Operation).WithID("jobEnded").WithSummary("A job has ended").WithTags("analysis").
		WithDescription("Sent to callbackUrl of the request. Check the signature, answer 2xx at once, and then ask for the result.").
		WithParameters(
			header("webhook-id", "Id of the message, that of the job. It is the same when the message is sent again."),
			header("webhook-timestamp", "Time of this attempt in seconds since 1970."),
			header("webhook-signature", "Signature of this attempt."),
		).WithRequestBody(openapi31.RequestBodyOrReference{RequestBody: &body})
	post.WithSecurity(map[string][]string{})
	text := func(text string) openapi31.ResponseOrReference {
		return openapi31.ResponseOrReference{Response: &openapi31.Response{Description: text}}
	}
	var responses openapi31.Responses
	for status, says := range map[string]string{
		"204": "The message has arrived. Any status of 2xx will do; others have it sent again.",
		"410": "The receiver wants no more; the message is not sent again.",
	} {
		responses.WithMapOfResponseOrReferenceValuesItem(status, text(says))
	}
	post.WithResponses(responses)
	return map[string]openapi31.PathItemOrReference{"jobEnded": {PathItem: &openapi31.PathItem{Post: post}}}
}
